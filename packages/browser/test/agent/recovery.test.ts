import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { channelName, type RuntimeEvents } from '@svc/runtime'
import t from 'tap'
import { survive } from '../helpers/crashing.ts'
import { act, makeBrowserAgent, resultsIn } from '../helpers/make-browser-agent.ts'

const SHOP = 'https://shop.example/'
const PAGES = {
  [SHOP]: { title: 'Shop', text: '- text: Welcome', elements: { e1: { name: 'Cart', goes: `${SHOP}cart` } } },
  [`${SHOP}cart`]: { title: 'Cart', text: '- text: 2 widgets' }
}

/** An agent whose model opens the shop, clicks, and answers with what the cart has; it opens the page again where it is gone. */
function cartAgent() {
  return makeBrowserAgent(({ prompt }) => {
    const results = resultsIn(prompt)
    const last = results.at(-1) ?? ''
    if (last.includes('2 widgets')) return 'Two widgets.'
    const turn = last.includes('Welcome') ? act('click', { ref: 'e1' }) : act('open', { url: SHOP })
    return { toolCalls: turn.toolCalls.map((call) => ({ ...call, toolCallId: `c${results.length}` })) }
  }, PAGES)
}

t.test('a run resumes after a crash at any write, and opens its page again', async (t) => {
  const whole = await survive(() => cartAgent().agent, [])
  t.equal(whole.result?.text, 'Two widgets.')
  let reopened = 0
  const steps: string[] = []
  const onStep = (event: unknown) => void steps.push((event as RuntimeEvents['browser.step']).runId)
  subscribe(channelName('browser.step'), onStep)
  t.teardown(() => unsubscribe(channelName('browser.step'), onStep))
  for (let lifetime = 1; lifetime < whole.appends; lifetime++) {
    const agents: ReturnType<typeof cartAgent>[] = []
    const make = () => {
      const made = cartAgent()
      agents.push(made)
      return made.agent
    }
    const { status, result, parts, runId } = await survive(make, [lifetime])
    t.equal(status, 'completed', `after ${lifetime} appends`)
    t.equal(result?.text, 'Two widgets.')
    t.equal(agents.at(-1)?.browser.openDesks, 0)
    const calls = agents.reduce((sum, { model }) => sum + model.calls.length, 0)
    t.equal(steps.filter((each) => each === runId).length, calls, 'a replayed step is not reported again')
    const pages = parts.flatMap((part) => (part.type === 'browser.page' ? [part.title] : []))
    t.equal(pages.at(-1), 'Cart')
    if (JSON.stringify(result?.toolCalls).includes('pages of earlier are gone')) reopened++
  }
  t.ok(reopened > 0, 'the model is informed')
})
