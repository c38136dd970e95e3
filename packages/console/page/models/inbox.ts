import type { PendingApproval, PendingInput } from '@svc/contract'
import { computed, signal } from '@preact/signals'
import { ApiError } from '../api/client.ts'
import { listApprovals, listInputs } from '../api/resources.ts'

/** What waits for the visitor: an approval, or a question, a client tool or credentials. */
export type InboxItem =
  | { readonly of: 'approval'; readonly id: string; readonly asked: PendingApproval }
  | { readonly of: 'input'; readonly id: string; readonly asked: PendingInput }

/** What waits, that which expires first at the beginning; undefined until it was read. */
export const inbox = signal<readonly InboxItem[] | undefined>(undefined)
/** Why it could not be read the last time. */
export const inboxError = signal<unknown>(undefined)
/** There is more than one page of it. */
export const hasMoreInbox = signal(false)
/** How much waits. */
export const inboxCount = computed(() => inbox.value?.length ?? 0)

/** Reads what waits; a kind that the visitor may not see is left out. */
export async function refreshInbox(abort?: AbortSignal): Promise<void> {
  try {
    const [approvals, inputs] = await Promise.all([
      listApprovals({}, { signal: abort }).catch(unlessRefused),
      listInputs({}, { signal: abort }).catch(unlessRefused)
    ])
    const items: InboxItem[] = [
      ...(approvals?.approvals ?? []).map((asked) => ({
        of: 'approval' as const,
        id: asked.approvalId,
        asked
      })),
      ...(inputs?.inputs ?? []).map((asked) => ({ of: 'input' as const, id: asked.inputId, asked }))
    ]
    inbox.value = items.toSorted((a, b) => a.asked.expiresAt.localeCompare(b.asked.expiresAt))
    hasMoreInbox.value = Boolean(approvals?.nextCursor ?? inputs?.nextCursor)
    inboxError.value = undefined
  } catch (err) {
    if (abort?.aborted !== true) inboxError.value = err
  }
}

/** Takes an item away that was answered here, before the next look. */
export function dropFromInbox(id: string): void {
  inbox.value = inbox.value?.filter((item) => item.id !== id)
}

/** Forgets what was read for another visitor. */
export function clearInbox(): void {
  inbox.value = undefined
  inboxError.value = undefined
}

function unlessRefused(err: unknown): undefined {
  if (!(err instanceof ApiError && err.status === 403)) throw err
}
