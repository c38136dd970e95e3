import type { ApprovalSummary, RunEngine } from '@svc/registry'
import type { Asked } from './agent-messages.ts'
import { isoTime } from './iso-time.ts'

/** Bytes of arguments up to which a task shows all of them. */
const MAX_ARGS = 2_097_152

/** What an approval asks for; long arguments are read where the whole of a task is wanted. */
export async function readAsked(
  { stores }: Pick<RunEngine, 'stores'>,
  approval: ApprovalSummary,
  isWhole: boolean
): Promise<Asked> {
  const { approvalId, toolName, argsPreview, argsBytes } = approval
  const asked = { approvalId, toolName, expiresAt: isoTime(approval.expiresAt) }
  if (argsPreview === undefined) return { ...asked, args: approval.args }
  if (!isWhole || argsBytes > MAX_ARGS) return { ...asked, argsPreview, argsBytes }
  let json = ''
  for await (const piece of stores.runs.readArgs(approvalId)) json += piece
  return { ...asked, args: JSON.parse(json) as unknown }
}
