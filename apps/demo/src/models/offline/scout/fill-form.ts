import type { Call } from '../conversation.ts'
import type { Move } from '../rule-model.ts'
import { coverage } from './facts.ts'
import { around, type Element } from './outline.ts'
import { check, click, select, type, type Browsing } from './page.ts'
import type { Detail } from './task.ts'

const FIELDS = ['textbox', 'combobox', 'checkbox', 'radio', 'spinbutton']
const YES = /^(?:yes|true|on|please|accept(?:ed)?|i accept.*)$/i

/** Fills in a form with the details that the user gave, by their labels; then clicks the button that sends it. */
export function fillForm({ task, page, outcomes }: Browsing, send: Element): Move {
  const fields = page.main.filter(({ role, ref }) => ref !== undefined && FIELDS.includes(role))
  const filled = task.details.map((detail) => ({ detail, call: callFor(fields, detail) }))
  const unknown = filled.filter(({ call }) => call === undefined).map(({ detail }) => detail.label)
  if (unknown.length > 0)
    return {
      answer: `The form has no field or choice for ${unknown.map((label) => `“${label}”`).join(', ')}.`
    }
  const isMade = (wanted: Call) =>
    outcomes.some(({ toolName, args }) => toolName === wanted.toolName && args['ref'] === wanted.args['ref'])
  const calls = filled.flatMap(({ call }) => (call === undefined || isMade(call) ? [] : [call]))
  return { calls: calls.length > 0 ? calls : [click(send)] }
}

// The field whose name has the words of the label: of radio buttons, their group has it, and one of them the value.
function callFor(fields: readonly Element[], { label, value }: Detail): Call | undefined {
  const named = (element: Element) => coverage([label], element.name) === 1
  const field = fields.find((each) => each.role !== 'radio' && named(each))
  if (field === undefined) {
    const choices = fields.filter((each) => {
      const group = around(each, 'group', 'radiogroup')
      return each.role === 'radio' && group !== undefined && named(group)
    })
    const choice = choices.find(({ name }) => coverage([value], name) === 1)
    return choice && check(choice)
  }
  if (field.role === 'checkbox') return check(field, YES.test(value))
  if (field.role !== 'combobox') return type(field, value)
  const option = field.children.find(({ name }) => name.toLowerCase() === value.toLowerCase())
  return option && select(field, option.name)
}
