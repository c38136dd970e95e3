import './talk.css'
import type { RunnableKind, RunnableMetadata } from '@svc/contract'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { getRunnable } from '../../api/resources.ts'
import { announce } from '../../app/announcer.tsx'
import { goTo, hrefOf, type Route } from '../../app/router.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { Icon } from '../../components/elements.tsx'
import { useLoad } from '../../components/hooks.ts'
import { Empty, ErrorNotice } from '../../components/notice.tsx'
import { Conversation } from '../../models/conversation.ts'
import { inputOf, randomId, type Draft } from '../../models/draft.ts'
import { isKind, KIND_TITLES, KINDS, listAllRunnables } from '../../models/kinds.ts'
import { CallBar, canCall, useCall } from './call-bar.tsx'
import { Composer } from './composer.tsx'
import { Transcript } from './transcript.tsx'
import { useEdit, type Again } from './turn.tsx'

/** Everything that can be talked to. */
function Choose() {
  const all = useLoad(listAllRunnables, [])
  const isEmpty = all.value?.every((list) => list.length === 0) ?? false
  return (
    <>
      <header class="view-head">
        <h1>Who do you want to talk to?</h1>
      </header>
      <div class="view-body stack">
        {all.error !== undefined && <ErrorNotice error={all.error} onRetry={all.reload} />}
        {isEmpty && (
          <Empty icon="talk" title="Nobody is here">
            <p>The service has no agents, teams or workflows that you may run.</p>
          </Empty>
        )}
        {all.value?.map(
          (list, at) => list.length > 0 && <Group key={at} title={KIND_TITLES[KINDS[at]!]} list={list} />
        )}
      </div>
    </>
  )
}

function Group({ title, list }: { title: string; list: readonly RunnableMetadata[] }) {
  return (
    <section class="stack">
      <h2>{title}</h2>
      <ul class="cards">
        {list.map(({ kind, name, description }) => (
          <li key={name}>
            <a class="card" href={hrefOf(['talk', kind, name])}>
              <strong>{cleanLine(name, 100)}</strong>
              {description !== undefined && <span class="hint">{cleanLine(description, 160)}</span>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** `#/talk`: whom to talk to; `#/talk/agent/name`: a new conversation; `#/talk/agent/name/session`: one that continues. */
export function Talk({ route }: { route: Route }) {
  const [, kind, name, sessionId] = route.path
  if (name === undefined || !isKind(kind)) return <Choose />
  return <TalkTo kind={kind} name={name} sessionId={sessionId} />
}

function TalkTo({
  kind,
  name,
  sessionId
}: {
  kind: RunnableKind
  name: string
  sessionId: string | undefined
}) {
  const runnable = useLoad((signal) => getRunnable({ kind, name }, { signal }), [kind, name])
  const conversation = useConversation(kind, name, sessionId)
  const [stopError, setStopError] = useState<unknown>()
  const edit = useEdit(conversation)
  const call = useCall(conversation)
  const send = ({ files, ...draft }: Draft, after = edit.current?.after) => {
    const { ref } = conversation
    if (call.state !== undefined && typeof draft.input === 'string' && files.length === 0)
      return call.current.current?.write(draft.input)
    goTo(hrefOf(['talk', kind, name, ref.sessionId]), { replace: true })
    edit.end()
    void conversation.send(inputOf({ files, ...draft }), {
      ...(files.length > 0 && { files }),
      ...(after !== undefined && { afterTurn: after })
    })
  }
  const stop = () => {
    setStopError(undefined)
    conversation.stop().then(() => announce('Stopped'), setStopError)
  }
  // Read so that the view is drawn again when a run begins or ends.
  const runs = conversation.runs.value
  const isActive = runs.some((run) => run.version.value >= 0 && !run.isOver)
  const latest = useRef({ edit, send })
  latest.current = { edit, send }
  // The same object each time: turns that are saved are not drawn again.
  const again = useMemo<Again>(
    () => ({
      edit: (runId) => latest.current.edit.begin(runId),
      repeat: (runId) => latest.current.edit.repeat(runId, latest.current.send)
    }),
    []
  )
  const title = cleanLine(conversation.title.value ?? kind, 80)
  return (
    <div class="talk">
      <header class="view-head">
        <a class="button quiet icon" href={hrefOf(['talk'])} aria-label="All agents, teams and workflows">
          <Icon name="back" />
        </a>
        <h1 class="ellipsis">{cleanLine(name, 100)}</h1>
        <span class="hint ellipsis">{title}</span>
        {conversation.hasBranches.value && (
          <a class="hint" href={hrefOf(['sessions', kind, name, conversation.ref.sessionId])}>
            branches
          </a>
        )}
        <a class="button end" href={hrefOf(['talk', kind, name])}>
          <Icon name="plus" /> New
        </a>
      </header>
      <Transcript conversation={conversation} again={again} />
      <div class="talk-foot">
        {runnable.error !== undefined && <ErrorNotice error={runnable.error} onRetry={runnable.reload} />}
        {(stopError ?? edit.error) !== undefined && <ErrorNotice error={stopError ?? edit.error} />}
        <CallBar {...call} />
        {edit.current !== undefined && (
          <p class="row hint">
            {edit.current.after === undefined
              ? 'The earlier message stays.'
              : 'Your message takes the place of the earlier one, on a branch of its own.'}
            <button type="button" class="button quiet" onClick={edit.end}>
              Cancel
            </button>
          </p>
        )}
        {runnable.value !== undefined && (
          <Composer
            key={edit.current?.runId}
            runnable={runnable.value}
            draft={edit.current?.draft}
            onSend={send}
          >
            {runnable.value.voice !== undefined && call.state === undefined && canCall() && (
              <button
                type="button"
                class="button quiet icon"
                aria-label="Call"
                title="Call"
                onClick={() => {
                  goTo(hrefOf(['talk', kind, name, conversation.ref.sessionId]), { replace: true })
                  void call.begin()
                }}
              >
                <Icon name="mic" />
              </button>
            )}
            {isActive && call.state === undefined && (
              <button type="button" class="button" onClick={stop}>
                <Icon name="stop" /> Stop
              </button>
            )}
          </Composer>
        )}
      </div>
    </div>
  )
}

/** The conversation that the address names; a new one gets its address with its first message. */
function useConversation(kind: RunnableKind, name: string, sessionId: string | undefined): Conversation {
  const held = useRef<Conversation>(null)
  const current = held.current
  const isSame =
    current !== null &&
    current.ref.kind === kind &&
    current.ref.name === name &&
    (sessionId === undefined ? current.isEmpty : current.ref.sessionId === sessionId)
  if (!isSame) {
    current?.close()
    held.current = open(kind, name, sessionId)
  }
  useEffect(() => () => held.current?.close(), [])
  return held.current!
}

function open(kind: RunnableKind, name: string, sessionId: string | undefined): Conversation {
  const conversation = new Conversation(kind, name, sessionId ?? randomId())
  void conversation.open(sessionId === undefined)
  return conversation
}
