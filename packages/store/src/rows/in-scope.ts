import { RUNNABLE_KINDS, type RunnableKey, type RunScope } from '@svc/registry'
import type { ExpressionBuilder } from 'kysely'
import type { Tables } from '../tables.ts'

type Expressions = ExpressionBuilder<Tables, 'run'>

/** A condition: the run is in a scope. */
export function isIn({ runnables, registry }: RunScope) {
  return (run: Expressions) => {
    const byRegistry = Map.groupBy(runnables, (each) => each.registry)
    const named = Array.from(byRegistry, ([id, all]) =>
      run.and([run('registry', '=', id), isOneOf(run, all)])
    )
    if (registry === undefined) return run.or(named)
    const { id, kinds, except } = registry
    const ofRegistry = [run('registry', '=', id)]
    if (RUNNABLE_KINDS.some((kind) => !kinds.includes(kind))) ofRegistry.push(run('run.kind', 'in', kinds))
    if (except.length > 0) ofRegistry.push(run.not(isOneOf(run, except)))
    return run.or([...named, run.and(ofRegistry)])
  }
}

function isOneOf(run: Expressions, runnables: readonly Pick<RunnableKey, 'kind' | 'name'>[]) {
  const byKind = Map.groupBy(runnables, ({ kind }) => kind)
  const each = Array.from(byKind, ([kind, all]) => {
    const names = all.map(({ name }) => name)
    return run.and([run('run.kind', '=', kind), run('name', 'in', names)])
  })
  return run.or(each)
}
