import { setTimeout as sleep } from 'node:timers/promises'
import type { DeskAction } from '../../browser.ts'
import type { Act } from './act.ts'

type Wait = Extract<DeskAction, { action: 'wait' }>

/** Waits for a text, for its end, or for a time. */
export async function wait(act: Act, { text, gone, time }: Wait): Promise<void> {
  const ms = Math.max(0, Math.min(time ?? Infinity, act.desk.timeout.action))
  if (text === undefined && gone === undefined) {
    // That the time is over is the end of the action, and no failure.
    await sleep(ms, undefined, { signal: act.signal }).catch(() => undefined)
    return
  }
  const late = AbortSignal.timeout(ms)
  const signal = AbortSignal.any([act.signal, late])
  try {
    if (text !== undefined) await appears(act, text, signal)
    if (gone !== undefined) await disappears(act, gone, signal)
  } catch (err) {
    if (!late.aborted && !act.signal.aborted) throw err
    const what =
      text === undefined ? `"${gone?.slice(0, 80)}" is still there` : `"${text.slice(0, 80)}" did not appear`
    act.fail(`${what} after ${ms} ms`)
  }
}

async function appears(act: Act, text: string, signal: AbortSignal): Promise<void> {
  const found = new AbortController()
  const limits = { timeout: 0, signal: AbortSignal.any([signal, found.signal]) }
  try {
    // In whichever frame comes first; the waits in the others end with it.
    await Promise.any(seen(act, text).map((element) => element.waitFor({ state: 'visible', ...limits })))
  } finally {
    found.abort()
  }
}

async function disappears(act: Act, text: string, signal: AbortSignal): Promise<void> {
  await Promise.all(
    seen(act, text).map((element) => element.waitFor({ state: 'hidden', timeout: 0, signal }))
  )
}

const seen = ({ page }: Act, text: string) =>
  page.frames().map((frame) => frame.getByText(text).filter({ visible: true }).first())
