import type { RunnableKind } from '@svc/contract'

const FORM = /^(team|workflow|agent)\/(.+)$/

/** What a model names. */
export interface NamedRunnable {
  readonly kind: RunnableKind
  readonly name: string
}

/**
 * The name of a runnable as a model: that of an agent, `team/<name>` or `workflow/<name>`. An agent whose name looks like one of these is
 * `agent/<name>`.
 */
export function toModel(kind: RunnableKind, name: string): string {
  return kind === 'agent' && !FORM.test(name) ? name : `${kind}/${name}`
}

/** The runnable that a model names, whether there is one or not. */
export function readModel(model: string): NamedRunnable {
  const [, kind, name] = FORM.exec(model) ?? []
  return kind === undefined ? { kind: 'agent', name: model } : { kind: kind as RunnableKind, name: name! }
}
