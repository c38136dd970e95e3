import { RUNNABLE_KINDS, type RunnableKey, type RunScope } from '@svc/contract'
import type { ExpressionBuilder } from 'kysely'
import type { Tables } from '../tables.ts'

// A session has the same columns.
type Expressions = ExpressionBuilder<Tables, 'run'>

/** A condition: the run, or the session, is in a scope. */
export function isIn({ runnables, registry }: RunScope, table: 'run' | 'session' = 'run') {
  const column = `${table}.kind` as 'run.kind'
  return (run: Expressions) => {
    const byRegistry = Map.groupBy(runnables, (each) => each.registry)
    const named = Array.from(byRegistry, ([id, all]) =>
      run.and([run('registry', '=', id), isOneOf(run, all, column)])
    )
    if (registry === undefined) return run.or(named)
    const { id, kinds, except } = registry
    const ofRegistry = [run('registry', '=', id)]
    if (RUNNABLE_KINDS.some((kind) => !kinds.includes(kind))) ofRegistry.push(run(column, 'in', kinds))
    if (except.length > 0) ofRegistry.push(run.not(isOneOf(run, except, column)))
    return run.or([...named, run.and(ofRegistry)])
  }
}

function isOneOf(
  run: Expressions,
  runnables: readonly Pick<RunnableKey, 'kind' | 'name'>[],
  column: 'run.kind'
) {
  const byKind = Map.groupBy(runnables, ({ kind }) => kind)
  const each = Array.from(byKind, ([kind, all]) => {
    const names = all.map(({ name }) => name)
    return run.and([run(column, '=', kind), run('name', 'in', names)])
  })
  return run.or(each)
}
