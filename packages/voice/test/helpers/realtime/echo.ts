import type { Asked, Reply } from './served-connection.ts'

/** Answers with a sentence, and continues one that was cut off. */
export const echo = ({ text, items, own = '' }: Asked): Reply => {
  const whole = `You said ${text}.`
  if (!own.includes('cut off')) return { text: whole }
  const said = items.slice(items.findLastIndex(({ role }) => role === 'user') + 1)
  return { text: whole.slice(said.map((item) => item.text).join('').length) }
}

/** The answers of `echo` to one, two, three. */
export const ANSWERS = ['You said one.', 'You said two.', 'You said three.']
