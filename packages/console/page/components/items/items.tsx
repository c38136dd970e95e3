import './items.css'
import { Component, type ComponentChildren, type VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { PartOf } from '@svc/contract'
import type { InputItem, PartItem, RunItem, ToolItem } from '../../models/run-items.ts'
import { ApprovalCard } from '../approval-card.tsx'
import { cleanLine, cleanText } from '../clean-text.ts'
import { Details, Icon, memo, WebLink } from '../elements.tsx'
import { FileChip } from '../file-chip.tsx'
import { useGradually } from '../hooks.ts'
import { InputCard } from '../input-card.tsx'
import { JsonTree } from '../json-tree.tsx'
import { Markdown } from '../markdown.tsx'
import { formatDuration } from '../time.tsx'
import { Citation } from './content.tsx'

/** Items that follow each other: those of the run itself, or those of members, which are side by side. */
export type Stretch =
  | { readonly of: 'run'; readonly item: RunItem }
  | { readonly of: 'members'; readonly id: string; readonly lanes: Map<string, RunItem[]> }

/** Divides items into stretches; of members, each has a lane. */
function toStretches(items: readonly RunItem[]): Stretch[] {
  const stretches: Stretch[] = []
  for (const item of items) {
    const [member] = item.source
    if (member === undefined) {
      stretches.push({ of: 'run', item })
      continue
    }
    let last = stretches.at(-1)
    if (last?.of !== 'members')
      stretches.push((last = { of: 'members', id: `lanes-${item.id}`, lanes: new Map() }))
    const lane = last.lanes.get(member)
    if (lane === undefined) last.lanes.set(member, [item])
    else lane.push(item)
  }
  return stretches
}

/** True if two stretches have the same items. */
function isSameStretch(one: Stretch, other: Stretch | undefined): boolean {
  if (one.of === 'run') return other?.of === 'run' && one.item === other.item
  if (other?.of !== 'members' || one.lanes.size !== other.lanes.size) return false
  return [...one.lanes].every(([member, items]) => {
    const others = other.lanes.get(member)
    return others?.length === items.length && items.every((item, at) => item === others[at])
  })
}

/** The lanes of members; within one, who of a member's own members has spoken. */
function Lanes({
  lanes,
  draw
}: {
  lanes: ReadonlyMap<string, readonly RunItem[]>
  draw: (item: RunItem) => ComponentChildren
}) {
  return (
    <div class="lanes">
      {[...lanes].map(([member, items]) => {
        let shown = ''
        return (
          <section class="lane" key={member} aria-label={cleanLine(member, 80)}>
            <p class="label hint">{cleanLine(member, 80)}</p>
            {items.map((item) => {
              const inner = item.source.slice(1).join(' › ')
              const isOther = inner !== shown
              shown = inner
              return (
                <div class="item" key={item.id}>
                  {isOther && inner !== '' && <p class="label hint">{cleanLine(inner, 120)}</p>}
                  {draw(item)}
                </div>
              )
            })}
          </section>
        )
      })}
    </div>
  )
}

/** Items and lanes that are drawn together. */
const CHUNK = 5
/** Chunks that are laid out apart from others: a frame costs as much as the groups that it changes. */
const GROUP = 20

interface ItemsProps {
  items: readonly RunItem[]
  runId: string
  isOver: boolean
}

/** The items of a run; those of members in lanes. Of thousands, only chunks in view and those that change cost anything. */
export function Items({ items, runId, isOver }: ItemsProps) {
  const chunks = useMemo(() => toChunks(toStretches(items)), [items])
  const shown = useGradually(chunks.length, 1)
  return (
    <>
      {Array.from({ length: Math.ceil(shown / GROUP) }, (_, at) => {
        const group = chunks.slice(at * GROUP, Math.min(shown, (at + 1) * GROUP))
        return <Group key={at} chunks={group} runId={runId} isOver={isOver} />
      })}
    </>
  )
}

function toChunks(stretches: readonly Stretch[]): (readonly Stretch[])[] {
  const chunks = []
  for (let at = 0; at < stretches.length; at += CHUNK) chunks.push(stretches.slice(at, at + CHUNK))
  return chunks
}

class Group extends Component<Omit<ItemsProps, 'items'> & { chunks: readonly (readonly Stretch[])[] }> {
  override shouldComponentUpdate({ chunks, isOver }: Readonly<Group['props']>): boolean {
    const { props } = this
    const isSame = (chunk: readonly Stretch[], at: number) => chunk === props.chunks[at]
    return isOver !== props.isOver || chunks.length !== props.chunks.length || !chunks.every(isSame)
  }

  override render(): VNode {
    const { chunks, runId, isOver } = this.props
    return (
      <div class="group">
        {chunks.map((stretches, at) => (
          <Chunk key={at} stretches={stretches} runId={runId} isOver={isOver} />
        ))}
      </div>
    )
  }
}

class Chunk extends Component<Omit<ItemsProps, 'items'> & { stretches: readonly Stretch[] }> {
  override shouldComponentUpdate({ stretches, isOver }: Readonly<Chunk['props']>): boolean {
    const { props } = this
    const isSame = (stretch: Stretch, at: number) => isSameStretch(stretch, props.stretches[at])
    return isOver !== props.isOver || stretches.length !== props.stretches.length || !stretches.every(isSame)
  }

  override render(): VNode {
    const { stretches, runId, isOver } = this.props
    const draw = (item: RunItem) => <Item item={item} runId={runId} isOver={isOver} />
    return (
      <div class="chunk">
        {stretches.map((stretch) =>
          stretch.of === 'members' ? (
            <Lanes key={stretch.id} lanes={stretch.lanes} draw={draw} />
          ) : (
            <div key={stretch.item.id} class="item">
              {draw(stretch.item)}
            </div>
          )
        )}
      </div>
    )
  }
}

const Item = memo(function Item({ item, runId, isOver }: { item: RunItem; runId: string; isOver: boolean }) {
  switch (item.kind) {
    case 'text':
      return (
        <>
          <Markdown text={item.text} />
          {item.isCut && <p class="hint">Interrupted</p>}
        </>
      )
    case 'heard':
      return <p class="asked-bubble said">{cleanText(item.text || '…')}</p>
    case 'reasoning':
      return (
        <Details
          summary={
            <>
              <Icon name="think" /> Reasoning
            </>
          }
        >
          {() => <Markdown text={item.text} />}
        </Details>
      )
    case 'tool':
      return <Tool item={item} isOver={isOver} />
    case 'input':
      return <Input item={item} isOver={isOver} />
    case 'error':
      return (
        <p class="notice bad" role="alert">
          {cleanLine(item.error.message, 500)} <code>{cleanLine(item.error.code, 80)}</code>
        </p>
      )
    default:
      return <Part item={item} runId={runId} />
  }
})

const TOOL_STATES = { drafted: 'preparing', called: 'working', done: 'done', failed: 'failed' } as const

function Tool({ item, isOver }: { item: ToolItem; isOver: boolean }) {
  const { toolName, args, draft, state, result, error, durationMs, approval } = item
  const waits = approval !== undefined && approval.answer === undefined && !isOver
  const label = waits ? 'waits for you' : isOver && state === 'called' ? 'not finished' : TOOL_STATES[state]
  return (
    <>
      <Details
        summary={
          <>
            <Icon name="tool" />
            <code class="ellipsis">{cleanLine(toolName, 100)}</code>
            <span class={state === 'failed' ? 'bad' : undefined}>{label}</span>
            {durationMs !== undefined && <span>{formatDuration(durationMs)}</span>}
          </>
        }
      >
        {() => (
          <>
            {draft !== '' && <pre class="draft">{cleanText(draft)}</pre>}
            {args !== undefined && <JsonTree value={args} label="arguments" />}
            {state === 'done' && <JsonTree value={result} label="result" />}
            {error !== undefined && (
              <p class="notice bad">
                {cleanLine(error.message, 1_000)} <code>{cleanLine(error.code, 80)}</code>
              </p>
            )}
            {approval?.answer !== undefined && (
              <p class="hint">
                {approval.answer.approved ? 'Approved' : 'Denied'}
                {approval.answer.reason !== undefined && `: ${cleanLine(approval.answer.reason, 500)}`}
              </p>
            )}
          </>
        )}
      </Details>
      {waits && <ApprovalCard asked={{ ...approval, toolName }} />}
    </>
  )
}

function Input({ item: { request, response }, isOver }: { item: InputItem; isOver: boolean }) {
  if (response === undefined && !isOver) return <InputCard asked={request} />
  const { message, toolName, kind } = request
  return (
    <Details
      summary={
        <>
          <Icon name="ask" />
          <span class="ellipsis">{cleanLine(message ?? toolName ?? kind)}</span>
          <span>{response === undefined ? 'not answered' : ACTIONS[response.action]}</span>
        </>
      }
    >
      {() =>
        response?.content === undefined ? (
          <p class="hint">{kind === 'tool' ? 'The result is that of the tool.' : 'Without content.'}</p>
        ) : (
          <JsonTree value={response.content} label="answer" />
        )
      }
    </Details>
  )
}

const ACTIONS = { accept: 'answered', decline: 'declined', cancel: 'expired' } as const

function Part({ item: { part }, runId }: { item: PartItem; runId: string }) {
  switch (part.type) {
    case 'file':
      return <FileChip runId={runId} file={part} />
    case 'citation':
      return <Citation part={part} />
    case 'structured':
      return <JsonTree value={part.value} label="structured output" />
    case 'browser.page':
      return (
        <p class="hint">
          <WebLink href={part.url}>{cleanLine(part.title || part.url)}</WebLink>
        </p>
      )
    case 'compaction':
      return <Compaction part={part} />
    default:
      return part.name === 'steer' ? (
        <p class="asked-bubble">{cleanText(messageOf(part.value))}</p>
      ) : (
        <Details summary={<code>{cleanLine(part.name, 100)}</code>}>
          {() => <JsonTree value={part.value} label={cleanLine(part.name, 100)} />}
        </Details>
      )
  }
}

function Compaction({ part }: { part: PartOf<'compaction'> }) {
  const { messages, cut, before, after, text } = part
  const left =
    messages === 0
      ? `${count(cut, 'result')} cut`
      : `${count(messages, 'message')} ${text === undefined ? 'left out' : 'summarised'}`
  const line = `${left}, ${before.toLocaleString('en')} → ${after.toLocaleString('en')} tokens`
  if (text === undefined) return <p class="hint">{line}</p>
  return <Details summary={<span class="ellipsis">{line}</span>}>{() => <Markdown text={text} />}</Details>
}

function count(some: number, noun: string): string {
  return `${some.toLocaleString('en')} ${noun}${some === 1 ? '' : 's'}`
}

function messageOf(value: unknown): string {
  const { message } = (value ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(message ?? value)
}
