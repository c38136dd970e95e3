import type { Outcome } from '../conversation.ts'
import type { Move } from '../rule-model.ts'
import { choose } from './choose.ts'
import { factsOf } from './facts.ts'
import { fillForm } from './fill-form.ts'
import { textOf } from './outline.ts'
import { cite, click, find, saidOn, type, type Browsing } from './page.ts'
import { searchFor } from './search.ts'

const ADD = /^add to|^put in/i
const GO = /\border\b|\bcheck ?out\b/i
const SEND = /\b(?:place|send|confirm) (?:the |my |your )?order\b|\bbuy now\b/i
const NUMBER = /\border number\b/i

/** Orders a product: finds it, puts it into the cart, fills in the form, and sends it. */
export function placeOrder(browsing: Browsing): Move {
  const { page, task } = browsing
  const facts = factsOf(page.main)
  const alert = page.main.find(({ role }) => role === 'alert')
  if (alert !== undefined) return cite(`I could not order. The shop says: ${textOf(alert)}`, page)
  const done = facts.find(({ kind, text }) => kind === 'text' && NUMBER.test(text))
  if (done !== undefined) return cite(`Ordered. ${done.text}`, page)
  const send = find(page.main, ['button'], SEND)
  if (send !== undefined) return fillForm(browsing, send)
  const go = find(page.main, ['link', 'button'], GO)
  if (go !== undefined) return { calls: [click(go)] }
  const search = searchFor(browsing) ?? choose(browsing)
  if (search !== undefined) return search
  const add = find(page.main, ['button'], ADD)
  if (add === undefined)
    return cite(`I cannot order “${page.title || task.words.join(' ')}”: ${saidOn(page)}`, page)
  const quantity = find(page.main, ['spinbutton'], /quantity|number/i)
  const isSet =
    quantity === undefined || quantity.text === String(task.quantity) || isTyped(browsing, quantity.ref)
  return { calls: [isSet ? click(add) : type(quantity, String(task.quantity))] }
}

function isTyped({ outcomes }: Browsing, ref: string | undefined): boolean {
  return outcomes.some(({ toolName, args }: Outcome) => toolName === 'browser_type' && args['ref'] === ref)
}
