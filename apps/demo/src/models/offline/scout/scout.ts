import { isDeepStrictEqual } from 'node:util'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Call, Conversation, Outcome } from '../conversation.ts'
import type { Move } from '../rule-model.ts'
import { compareItems } from './compare.ts'
import { findAnswer } from './find-answer.ts'
import { placeOrder } from './place-order.ts'
import { cite, open, plainError, READ, readPage, saidOn, type Browsing } from './page.ts'
import { queriesOf, readTask } from './task.ts'

const HELP =
  'I look things up in the shop: “How much is the rain jacket in size L?”, “Which tea is the cheapest?”, “When are you open on Thursday?” Or: “Order 2 enamel mugs. Name: Ada; E-mail: ada@example.org; …”.'

/** Browses: one call after the other, each decided from the text of the page that the last one showed. */
export function browse({ message, outcomes, said }: Conversation, prompt: LanguageModelV4Prompt): Move {
  const task = readTask(message)
  const last = outcomes.at(-1)
  if (last === undefined) {
    const start = startOf(prompt)
    const isEmpty = task.kind !== 'order' && task.aspect === 'about' && queriesOf(task).length === 0
    return isEmpty || start === undefined ? { answer: HELP } : { calls: [open(start)] }
  }
  const failed = outcomes.find(({ error }) => error !== undefined)
  if (failed !== undefined) return { answer: `I stopped: ${plainError(failed)}` }
  // What a click or a form changed may decide: if only the changes were shown, the whole page is read.
  const mayLead = last.toolName === 'browser_click' || last.args['submit'] === true
  if (mayLead && readPage(last) === undefined) return { calls: [READ] }
  const page = outcomes.map(readPage).findLast((each) => each !== undefined)
  if (page === undefined) return { answer: 'The browser shows me nothing that I can read.' }
  const move = decide({ task, page, outcomes, said })
  const before = outcomes.findLast(({ toolName }) => toolName !== READ.toolName)
  const isRepeated = 'calls' in move && before !== undefined && isSame(move.calls.at(-1), before)
  return isRepeated ? cite(`I cannot continue, “${page.title}” stays as it is: ${saidOn(page)}`, page) : move
}

function decide(browsing: Browsing): Move {
  const { kind } = browsing.task
  if (kind === 'order') return placeOrder(browsing)
  return kind === 'compare' ? compareItems(browsing) : findAnswer(browsing)
}

function isSame(call: Call | undefined, { toolName, args }: Outcome): boolean {
  return call?.toolName === toolName && isDeepStrictEqual(call.args, args)
}

// Instructions name the page to start from.
function startOf(prompt: LanguageModelV4Prompt): string | undefined {
  const system = prompt.find(({ role }) => role === 'system')?.content
  return typeof system === 'string' ? /https?:\/\/\S+[^\s.,;:)]/.exec(system)?.[0] : undefined
}
