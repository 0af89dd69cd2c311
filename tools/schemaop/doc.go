// Package schemaop offers JSON Schemas to agents: schema:validate,
// schema:validateAll, schema:infer, schema:coerce and schema:check. Call
// [Operations]; [usher/tools/schema] does the work.
package schemaop
