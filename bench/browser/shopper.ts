import { BrowserAgent, type Browser } from '@svc/browser'
import { scriptedModel, type ScriptedTurn } from '@svc/runtime/testing'

/** An agent that does six actions in the shop, by the refs that it reads: open, type, check, select, click, read. */
export function createShopper(browser: Browser, host: string): BrowserAgent {
  return new BrowserAgent({
    name: 'shopper',
    register: false,
    browser,
    allow: [],
    privateHosts: [host],
    model: scriptedModel(
      ({ prompt }) => {
        const calls = prompt.filter(({ role }) => role === 'assistant').length
        const seen = JSON.stringify(prompt)
        const on = (action: string, role: string, args: object = {}) =>
          call(action, { ref: refOf(seen, role), ...args })
        const steps: (() => ScriptedTurn | string)[] = [
          () => call('open', { url: `http://${host}/` }),
          () => on('type', 'textbox', { text: 'widget' }),
          () => on('check', 'checkbox', { checked: true }),
          () => on('select', 'combobox', { values: ['price'] }),
          () => on('click', 'link'),
          () => call('read', {}),
          () => 'There are 30 widgets.'
        ]
        return steps[calls]!()
      },
      { record: false }
    )
  })
}

function call(action: string, args: object): ScriptedTurn {
  return { toolCalls: [{ toolName: `browser_${action}`, args, toolCallId: `${action}-1` }] }
}

/** The ref of the first element of a role in a text. */
export function refOf(text: string, role: string): string {
  const ref = new RegExp(`- ${role}\\b[^\\n]*?\\[ref=(\\w+)\\]`).exec(text.replaceAll('\\n', '\n'))?.[1]
  if (ref === undefined) throw new Error(`there is no ${role} on the page`)
  return ref
}
