const SCRIPTS: readonly [RegExp, string][] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, 'ja'],
  [/\p{Script=Hangul}/u, 'ko'],
  [/\p{Script=Han}/u, 'zh'],
  [/\p{Script=Cyrillic}/u, 'ru'],
  [/\p{Script=Arabic}/u, 'ar'],
  [/[\p{Script=Hebrew}\p{Script=Greek}\p{Script=Thai}\p{Script=Devanagari}]/u, 'other']
]
const COMMON: Readonly<Record<string, string>> = {
  de: 'der die das und ist nicht wie was wo wer warum kann ich ein eine mit für auf du sie es den dem mir bitte wird werden welche gibt einen kannst',
  fr: 'le la les et est pas comment quoi où qui pourquoi puis je un une avec pour sur vous tu il des du que dans quel quelle ce mon cette sont peux',
  es: 'el los las y es cómo qué dónde quién por puedo un una con para sobre usted tú del que cuál mi está son hay puede como',
  it: 'il lo gli e è non come cosa dove chi perché posso un una con per su tu lei del che quale mio sono della puoi',
  pt: 'o os as e é não como onde quem porque posso um uma com para sobre você do da que qual meu está são',
  nl: 'de het en is niet hoe wat waar wie waarom kan ik een met voor op je u van welke mijn zijn dit'
}
const WORDS = Object.entries(COMMON).map(([code, words]) => [code, new Set(words.split(' '))] as const)
const ENGLISH = new Set(
  'the and is not how what where who why can i a an with for on you it of in to do does are my me this that or be at there if from was did about which when'.split(
    ' '
  )
)

/** The language of a text where it is clearly not English, as a code: `de`, `fr`, `ja`, … */
export function detectLanguage(text: string): string | undefined {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0
  if (letters > 1 && latin < letters / 2)
    return SCRIPTS.find(([pattern]) => pattern.test(text))?.[1] ?? 'other'
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? []
  const count = (set: ReadonlySet<string>) => words.filter((word) => set.has(word)).length
  const scores = WORDS.map(([code, set]) => [code, count(set)] as const).sort((a, b) => b[1] - a[1])
  const [code, score] = scores[0]!
  return score >= 2 && score > count(ENGLISH) ? code : undefined
}
