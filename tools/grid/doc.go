// Package grid runs operations as jobs: grid:run waits for one, grid:invoke
// starts one, grid:jobStatus and grid:jobResult look after it.
//
// [Operations] makes the four of them over [Jobs], which the venue has. The
// operation inside goes through the gate again, with the caller's authority.
package grid
