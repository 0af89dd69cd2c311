// Package faults has the drivers that treat a venue's data folder as bad machines do, and hold what
// is left against what the venue had acknowledged. It has tests alone. They run on Linux.
//
// A child process works in a project's folder and prints each acknowledgement the moment it has it:
// notes, deletions, turns, delegations and revocations. A driver does something to the child, or to
// the folder. Then the commands `usher audit verify`, `usher sessions list` and `usher run` are run in
// that folder, and another child opens it and compares. Each point ends as one of:
//
//	ok       all that was acknowledged is there, and the commands work
//	told     it is refused, with a message that names the file, and nothing is changed
//	lost     something acknowledged is missing, and something was said
//	silent   something acknowledged is missing or changed, or a revoked token works, and nothing was said
//	crashed  a process died, hung, or printed a dump
//
// The last three fail the driver, and so does a refusal where the folder has all that is needed to go
// on. A driver prints one table, and with each failure the command that repeats it.
//
// A short slice belongs to the ordinary tests. The long drivers need the build tag faults, and most of
// them root and strace:
//
//	go test -tags faults -timeout 2h -v ./venue/faults
//	go test -tags faults -v -run TestDescriptors ./venue/faults   # run short for moments, ten runs; and for seconds
//	go test -tags faults -v -run TestSystemCalls ./venue/faults   # EIO, ENOSPC and EMFILE, by counting (strace)
//	go test -tags faults -v -run TestFullDisk ./venue/faults      # tmpfs of 12, 64 and 200 MB (root, or unshare)
//	go test -tags faults -v -run TestDamage ./venue/faults        # 500 files flipped, zeroed, cut, deleted
//	go test -tags faults -v -run TestKill ./venue/faults          # kill -9 by time, and at system calls (strace)
//	go test -tags faults -v -run TestCopy ./venue/faults          # a folder copied while it is written
//	go test -tags faults -v -run TestClocks ./venue/faults        # a clock days ahead or behind at one opening
//	go test -tags faults -v -run TestSoak -timeout 30m ./venue/faults # 64 sessions for five minutes: memory, descriptors, disk
//
// The environment says how much:
//
//	USHER_FAULTS_SEED=N    what is drawn; each driver prints the seed that it takes
//	USHER_FAULTS_POINTS=N  points of a driver, where they are drawn, or runs; "all" is every system call
//	USHER_FAULTS_ONLY=TEXT the points alone whose name has TEXT in it
//	USHER_FAULTS_KEEP=DIR  the folders of the points that fail are kept there
//	TMPDIR=DIR             where the folders lie
package faults
