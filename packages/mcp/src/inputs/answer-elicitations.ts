import type { Principal } from '@svc/contract'
import { answerInputs, type GivenAnswer } from '@svc/surface'
import type { Surface } from '../surface.ts'
import { toAnswer } from './elicitation.ts'

/**
 * Answers what a run waits for with the results of its elicitations, by the ids of the inputs. Those that the run does not have, or that
 * were answered before, are passed over. Returns the ids of those that this call answered, or whose page the user opens.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
export async function answerElicitations(
  surface: Surface,
  principal: Principal,
  runId: string,
  results: Readonly<Record<string, unknown>>
): Promise<string[]> {
  const given: GivenAnswer[] = []
  const opened: string[] = []
  for (const [inputId, result] of Object.entries(results)) {
    const found = await surface.runs.findInput(inputId)
    if (found === undefined || found.run.runId !== runId) continue
    const { kind, schema } = found.input
    const answer = toAnswer({ kind, schema }, result)
    if (answer !== undefined) given.push({ inputId, answer })
    else if (kind === 'auth' && isConsent(result)) opened.push(inputId)
  }
  return given.length === 0 ? opened : [...opened, ...(await answerInputs(surface, principal, given))]
}

// Consent to open the page, where the answer is given.
function isConsent(result: unknown): boolean {
  return (result as { action?: unknown } | null)?.action === 'accept'
}
