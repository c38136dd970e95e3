import { useEffect, useRef, useState } from 'preact/hooks'
import { call as callApi, surfaceUrl } from '../../api/client.ts'
import { ErrorNotice } from '../../components/notice.tsx'
import type { Conversation } from '../../models/conversation.ts'
import type { CallState, VoiceCall } from '../../voice/voice-call.ts'

const LABELS = {
  connecting: 'Connecting …',
  listening: 'Listening',
  thinking: 'Thinking …',
  speaking: 'Speaking'
} as const

/** How a call is doing, with the level of the microphone; what is said is in the transcript. */
export function CallBar({ state, isMuted, error, meter, toggleMute, current }: ReturnType<typeof useCall>) {
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      {state !== undefined && (
        <section class="row call" aria-label="Call" data-state={state}>
          <strong role="status">{isMuted && state === 'listening' ? 'Muted' : LABELS[state]}</strong>
          <meter ref={meter} min={0} max={1} aria-label="Level of the microphone" />
          <span class="row end">
            {state === 'speaking' && (
              <button type="button" class="button quiet" onClick={() => current.current?.stop()}>
                Interrupt
              </button>
            )}
            <button type="button" class="button" aria-pressed={isMuted} onClick={toggleMute}>
              Mute
            </button>
            <button type="button" class="button danger" onClick={() => current.current?.hangUp()}>
              Hang up
            </button>
          </span>
        </section>
      )}
    </>
  )
}

/** A call within a conversation, as long as the conversation is shown. */
export function useCall(conversation: Conversation) {
  const [state, setState] = useState<CallState>()
  const [isMuted, setMuted] = useState(false)
  const [error, setError] = useState<unknown>()
  const held = useRef<VoiceCall>(null)
  const meter = useRef<HTMLMeterElement>(null)
  useEffect(() => () => held.current?.hangUp(), [conversation])

  const begin = async () => {
    setError(undefined)
    setMuted(false)
    setState('connecting')
    try {
      const { VoiceCall } = await import('../../voice/voice-call.ts')
      const call = new VoiceCall(serviceOf(conversation), {
        onState: setState,
        onRun: (runId) => conversation.join(runId),
        onLevel: (level) => {
          if (meter.current !== null) meter.current.value = level
        },
        onFault: (message) => setError(new Error(message)),
        onEnd: () => {
          held.current = null
          setState(undefined)
        }
      })
      held.current = call
      await call.open()
    } catch (err) {
      held.current?.hangUp()
      setState(undefined)
      setError(err)
    }
  }
  const toggleMute = () => {
    setMuted(!isMuted)
    if (isMuted) void held.current?.unmute()
    else held.current?.mute()
  }
  return { state, isMuted, error, meter, begin, toggleMute, current: held }
}

/** Whether voice agents can be called: pages have no microphone unless they were loaded over TLS, or from this machine. */
export const canCall = (): boolean =>
  surfaceUrl('realtime') !== undefined && navigator.mediaDevices !== undefined

function serviceOf({ ref: { name, sessionId } }: Conversation) {
  const base = surfaceUrl('realtime')!
  const url = new URL('realtime', base)
  url.searchParams.set('model', name)
  const secret = async () => {
    const body = { session: { type: 'realtime', model: name }, sessionId }
    const { href } = new URL('realtime/client_secrets', base)
    return (await callApi<{ value: string }>(href, { method: 'POST', body })).value
  }
  return { url, secret }
}
