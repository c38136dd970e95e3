import type { PendingApproval } from '@svc/registry'
import { scriptedRunnable } from '@svc/registry/testing'
import type { SecuredApp } from './secured-app.ts'

/** An agent that asks once before it goes on, and tells what it was answered. */
export function asking(name = 'asking', timeout = 60_000) {
  return scriptedRunnable(
    [
      async ({ approvals, log }) => {
        const request = { toolCallId: 'c', toolName: 'send', args: { to: 'ada' }, timeout }
        log.info({ outcome: await approvals.request(request) }, 'answered')
      },
      { type: 'text', text: 'on it goes' }
    ],
    { name }
  )
}

/** Starts a run that waits for an approval, and gives what it waits for. */
export async function startAsking(
  { ask }: Pick<SecuredApp, 'ask'>,
  caller: Record<string, string> = {},
  name = 'asking'
): Promise<PendingApproval> {
  const headers = { ...caller, prefer: 'respond-async' }
  const started = await ask('POST', `/agents/${name}/run`, headers, { input: 'x' })
  const { runId } = (await started.json()) as { runId: string }
  for (let i = 0; i < 200; i++) {
    const record = (await (await ask('GET', `/runs/${runId}`, caller)).json()) as {
      pendingApprovals: PendingApproval[]
    }
    const [approval] = record.pendingApprovals
    if (approval !== undefined) return approval
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('it does not ask')
}
