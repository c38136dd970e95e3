import type { Move } from '../rule-model.ts'
import { click, find, select, type Browsing } from './page.ts'

/** Chooses the size or the like on a product's page; undefined if there is no choice, or it is made. */
export function choose({ task, page, outcomes }: Browsing): Move | undefined {
  const field = find(page.main, ['combobox'])
  const options = field?.children.filter(({ role }) => role === 'option') ?? []
  if (field === undefined || options.length === 0) return undefined
  const { choice } = task
  const offered = options.map(({ name }) => name).filter((name) => !/^(?:choose|select|please|-)/i.test(name))
  if (choice === undefined) {
    const isChosen = options.some(({ name, states }) => states.includes('selected') && offered.includes(name))
    return isChosen
      ? undefined
      : { answer: `Which ${field.name.toLowerCase()}? There is ${offered.join(', ')}.` }
  }
  const wanted = options.find(({ name }) => name.toLowerCase() === choice.toLowerCase())
  if (wanted === undefined)
    return { answer: `There is no ${field.name.toLowerCase()} ${choice}, only ${offered.join(', ')}.` }
  const call = select(field, wanted.name)
  const last = outcomes.at(-1)
  if (last?.toolName === call.toolName && last.args['ref'] === call.args['ref']) {
    // The page shows what belongs to the choice once its form is sent.
    const button = find(page.main.slice(page.main.indexOf(field)), ['button'])
    return button && { calls: [click(button)] }
  }
  return wanted.states.includes('selected') ? undefined : { calls: [call] }
}
