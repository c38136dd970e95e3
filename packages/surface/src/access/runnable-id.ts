import type { RunnableKind } from '@svc/contract'

const FORM = /^(team|workflow|agent)\/(.+)$/

/** What an id names. */
export interface NamedRunnable {
  readonly kind: RunnableKind
  readonly name: string
}

/**
 * The id of a runnable in protocols that know agents or models only: the name of an agent, `team/<name>` or `workflow/<name>`. An agent
 * whose name looks like one of these is `agent/<name>`.
 */
export function toRunnableId(kind: RunnableKind, name: string): string {
  return kind === 'agent' && !FORM.test(name) ? name : `${kind}/${name}`
}

/** The runnable that an id names, whether there is one or not. */
export function readRunnableId(id: string): NamedRunnable {
  const [, kind, name] = FORM.exec(id) ?? []
  return kind === undefined ? { kind: 'agent', name: id } : { kind: kind as RunnableKind, name: name! }
}
