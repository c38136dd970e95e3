import { trimMarks } from '../../../text/trim-marks.ts'
import type { Before, Intent } from './intent.ts'

const RESULT =
  /^(?:(?:and|so|please) )*(?:what (?:was|were|is) |what's |(?:tell|show|give) me |repeat |remind me of )(?:the (?:last |previous )?(?:result|outcome|answer|value) (?:of|to|for) )?(?:my|our|the|that) (?:last |latest |previous |earlier )?(?:calculation|computation|sum|equation)s?(?: (?:again|before|earlier|please))*$/
const LAST =
  /^(?:(?:and|so) )*what (?:was the last result|did (?:i|you) (?:just |last )?(?:calculate|compute))(?: (?:again|before|earlier|last))*$/

/** Reads a question for what was calculated before: it is calculated once more, so nothing has to be kept. */
export function readResult(text: string, { asked: earlier }: Before): Intent | undefined {
  const asked = trimMarks(text.toLowerCase(), '?!.').trim()
  if (!RESULT.test(asked) && !LAST.test(asked)) return undefined
  const last = earlier.findLast(({ intent }) => intent.type === 'calculate')?.intent
  return last ?? { type: 'recall-topic', whose: 'answer', topic: 'calculation' }
}
