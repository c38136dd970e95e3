import { hrefOf } from '../../app/router.ts'
import { ApprovalCard } from '../../components/approval-card.tsx'
import { cleanLine } from '../../components/clean-text.ts'
import { Icon } from '../../components/elements.tsx'
import { InputCard } from '../../components/input-card.tsx'
import { Empty, ErrorNotice } from '../../components/notice.tsx'
import { useGradually } from '../../components/hooks.ts'
import {
  dropFromInbox,
  hasMoreInbox,
  inbox,
  inboxError,
  refreshInbox,
  type InboxItem
} from '../../models/inbox.ts'
import './inbox.css'

/** `#/inbox`: everything that waits for the visitor, whichever run it is of. */
export function Inbox() {
  const items = inbox.value ?? []
  const count = useGradually(items.length)
  return (
    <div class="inbox">
      <header class="view-head">
        <h1>Inbox</h1>
        <span class="hint" role="status">
          {inbox.value !== undefined && `${items.length}${hasMoreInbox.value ? '+' : ''}`}
        </span>
      </header>
      <div class="view-body stack">
        {inboxError.value !== undefined && (
          <ErrorNotice error={inboxError.value} onRetry={() => void refreshInbox()} />
        )}
        {items.length === 0 && inbox.value !== undefined && (
          <Empty icon="inbox" title="Nothing waits for you">
            <p>Approvals and questions of your runs show up here.</p>
          </Empty>
        )}
        <ul class="stack">
          {items.slice(0, count).map((item) => (
            <li key={item.id}>
              <Waiting item={item} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  )
}

function Waiting({ item }: { item: InboxItem }) {
  const { runId, source = [] } = item.asked
  const answered = () => {
    dropFromInbox(item.id)
    void refreshInbox()
  }
  return (
    <>
      {item.of === 'approval' ? (
        <ApprovalCard asked={item.asked} onAnswered={answered} />
      ) : (
        <InputCard asked={item.asked} onAnswered={answered} />
      )}
      <p class="hint inbox-foot">
        {source.length > 0 && <span>{cleanLine(source.join(' › '), 120)}</span>}
        <a href={hrefOf(['run', runId], { tab: 'content' })}>
          Open the run <Icon name="right" />
        </a>
      </p>
    </>
  )
}
