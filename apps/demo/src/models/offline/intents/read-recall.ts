import { trimMarks } from '../../../text/trim-marks.ts'
import type { Intent } from './intent.ts'

const ORDINALS = [
  'first',
  'second',
  'third',
  'fourth',
  'fifth',
  'sixth',
  'seventh',
  'eighth',
  'ninth',
  'tenth'
]
const NTH = `(${ORDINALS.join('|')}|initial|very first|last|latest|previous|prior|preceding|\\d{1,3}(?:st|nd|rd|th))`
const ASKING = String.raw`(?:ask(?:ed|ing)?|say|said|write|wrote|written|type|typed|send|sent|want(?:ed)? to know)`
const TOPIC = String.raw`(?: (?:you|me))?(?: (?:earlier|before|previously|just now))?\s+(?:about|regarding|on|concerning)\s+(.{2,80})`
const LAST = /^(?:last|latest|previous|prior|preceding)$/

const READERS: readonly [RegExp, (groups: string[]) => Intent][] = [
  [
    new RegExp(String.raw`^(?:what|which|how)(?: \w+)? (?:did|have|had) i ${ASKING}${TOPIC}$`),
    ([topic = '']) => ({ type: 'recall-topic', whose: 'question', topic })
  ],
  [
    new RegExp(
      String.raw`^(?:did|have) i (?:already |ever )?(?:ask|asked|mention|mentioned|say|said|talk|talked)${TOPIC}$`
    ),
    ([topic = '']) => ({ type: 'recall-topic', whose: 'question', topic })
  ],
  [
    new RegExp(
      String.raw`^what (?:did|have|had) you (?:just )?(?:say|said|tell|told|answer|answered|reply|replied|write|explain|explained)${TOPIC}$`
    ),
    ([topic = '']) => ({ type: 'recall-topic', whose: 'answer', topic })
  ],
  [
    new RegExp(
      String.raw`^what was your (?:answer|reply|response)(?: (?:to|on|about|regarding))(?: my (?:question|message) (?:about|on))? (?!my )(.{2,80})$`
    ),
    ([topic = '']) => ({ type: 'recall-topic', whose: 'answer', topic })
  ],
  [
    new RegExp(
      String.raw`^(?:what|which)(?: (?:was|is|were)|'s) (?:the )?(?:my )?${NTH}(?: thing)? (?:question|message|request|prompt|query|input|thing)?s?(?: (?:that )?i(?:'ve| have| had)? (?:just )?${ASKING}(?: you)?| of mine| in this (?:session|conversation|chat)| to you| here)*$`
    ),
    ([nth = '']) => question(nth)
  ],
  [
    new RegExp(
      String.raw`^(?:what|which question|which) (?:did|have|had) i (?:just )?${ASKING}(?: (?:you|to you|me))?(?: (?:at )?(?:the )?${NTH})?(?: (?:before(?: (?:this|that|now))?|earlier|previously|just now|so far|then|in this (?:session|conversation)|(?:a )?(?:minute|moment|while) ago|time))*$`
    ),
    ([nth]) => question(nth ?? 'last')
  ],
  [new RegExp(`^my ${NTH} (?:question|message)$`), ([nth = '']) => question(nth)],
  [
    new RegExp(String.raw`^what (?:was|is) it (?:that )?i (?:just )?${ASKING}(?: you)?$`),
    () => question('last')
  ],
  [
    /^(?:do|can) you (?:still )?(?:remember|recall|know)(?: (?:me|what i (?:just )?(?:asked|said|wrote)(?: you)?|my (?:last |previous |earlier )?(?:question|message)|our (?:last |previous )?(?:conversation|chat|talk)))(?: (?:before|earlier|previously))?$/,
    () => question('last')
  ],
  [
    /^what (?:were|are|was|is) (?:all )?(?:of )?my (?:earlier |previous |last |past |other )?(?:questions|messages|requests)(?: so far)?$/,
    () => ({ type: 'recall-question', which: 'all' })
  ],
  [
    /^(?:please )?(?:repeat|quote|show|list|summari[sz]e|recap|give|tell|review)(?: me)?(?: all)?(?: of)? (?:my|our|the|this|what) (?:(?:earlier|previous|last|past|whole|entire|full|questions?|conversation|messages|history|chat|session|i asked|we (?:discussed|said|talked about))\s?)+(?:so far|in this session|until now)?$/,
    () => ({ type: 'recall-question', which: 'all' })
  ],
  [
    /^what (?:have|did|were) we (?:(?:been |just )?(?:talk(?:ed|ing)?|discuss(?:ed|ing)?|cover(?:ed)?|say|said))(?: about)?(?: (?:so far|before|earlier|today|here))*$/,
    () => ({ type: 'recall-question', which: 'all' })
  ],
  [
    /^what (?:questions|things) (?:did|have) i ask(?:ed)?(?: you)?(?: (?:so far|before|already|earlier))*$/,
    () => ({ type: 'recall-question', which: 'all' })
  ],
  [
    /^how (?:many|often) (?:questions|messages|things|times)? ?(?:did|have) i (?:ask|asked|send|sent|write|written)(?: you)?(?: (?:a question|questions|so far|already|before|in this session))*$/,
    () => ({ type: 'recall-question', which: 'count' })
  ],
  [
    /^what (?:did you|have you|was it you) (?:just )?(?:say|said|answer|answered|tell me|told me|reply|replied|write)(?: (?:before|earlier|just now|previously|last|last time))*$/,
    () => ({ type: 'recall-answer', which: 'last' })
  ],
  [
    /^what was (?:your|the) (last|latest|previous|first) (?:answer|reply|response|message)$/,
    ([which]) => ({ type: 'recall-answer', which: which === 'first' ? 'first' : 'last' })
  ],
  [
    /^(?:can you |could you |please )*(?:repeat|say|quote)(?: (?:that|it|this|again|your (?:last |previous )?(?:answer|reply|response)|what you (?:just )?said|once more|one more time|please|for me))+$/,
    () => ({ type: 'recall-answer', which: 'last' })
  ],
  [/^(?:pardon(?: me)?|come again|say what|again|repeat)$/, () => ({ type: 'recall-answer', which: 'last' })]
]

/** Reads questions about the conversation itself: what was asked, what was answered. */
export function readRecall(text: string): Intent | undefined {
  const asked = trimMarks(text.trim().toLowerCase().replaceAll('’', "'"), '?!.,')
    .replace(
      /^(?:(?:and|so|ok|okay|but|now|hey|hi|hello|please|then|wait|sorry|again|by the way)[,\s]+)+/,
      ''
    )
    .replace(
      /^(?:(?:can|could|would|will) you (?:please )?|please )?(?:tell|remind)(?: me)?(?: of| about)? (?=what|which|how)/,
      ''
    )
    .replace(/^(?:what|which) (my .+?|i .+?|you .+?|we .+?) (was|were|is|did|have)$/, 'what $2 $1')
    .replace(/ please$/, '')
    .replace(
      /^what (i|you|we) (?:just )?(?=asked|said|told|answered|talked|discussed|wrote|replied)/,
      'what did $1 '
    )
  for (const [pattern, read] of READERS) {
    const match = pattern.exec(asked)
    if (match !== null) return read(match.slice(1))
  }
  return undefined
}

function question(nth: string): Intent {
  if (LAST.test(nth)) return { type: 'recall-question', which: 'last' }
  const digits = /^\d+/.exec(nth)
  if (digits !== null) return { type: 'recall-question', which: Number(digits[0]) }
  return { type: 'recall-question', which: Math.max(0, ORDINALS.indexOf(nth)) + 1 }
}
