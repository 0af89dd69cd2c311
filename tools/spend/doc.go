// Package spend counts what calls of models use, and bounds it. An [Amount] is
// what was used, [Limits] what may be; [Usage] is one call's, and a [Price]
// makes [Money] of it. A [Budget] admits calls by [Take] and charges them by
// [Hold.Settle], in memory alone: whoever keeps budgets for another process
// writes down [Budget.Total].
package spend
