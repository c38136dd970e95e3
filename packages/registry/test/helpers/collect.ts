import { createRunEngine, type NumberedPart, type Run, type RunEngineOptions } from '@svc/registry'

/** Collects all parts of a run. */
export async function partsOf(run: Pick<Run, 'parts'>, after = 0): Promise<NumberedPart[]> {
  const parts: NumberedPart[] = []
  for await (const part of run.parts(after)) parts.push(part)
  return parts
}

/** The method of a test that registers its clean-up. */
interface Teardown {
  teardown(what: () => Promise<unknown>): unknown
}

/** Creates an engine that closes after the test, without waiting for its runs. */
export function buildEngine(t: Teardown, options: RunEngineOptions = {}) {
  const engine = createRunEngine({ drainTimeout: 0, ...options })
  t.teardown(() => engine.close())
  return engine
}
