import { createRunEngine, type NumberedPart, type Run, type RunEngineOptions } from '@svc/registry'

/** Every part of a run. */
export async function partsOf(run: Pick<Run, 'parts'>, after = 0): Promise<NumberedPart[]> {
  const parts: NumberedPart[] = []
  for await (const part of run.parts(after)) parts.push(part)
  return parts
}

/** The part of a test that makes something to be closed. */
interface Teardown {
  teardown(what: () => Promise<unknown>): unknown
}

/** An engine that is closed, without waiting for its runs, when the test is over. */
export function buildEngine(t: Teardown, options: RunEngineOptions = {}) {
  const engine = createRunEngine({ drainTimeout: 0, ...options })
  t.teardown(() => engine.close())
  return engine
}
