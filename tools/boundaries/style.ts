import type { SourceTree } from './source-tree.ts'

/** Words that the page "English" of CONTRIBUTING.md bans, each with replacements. */
const banned: [word: RegExp, instead: string][] = [
  [
    /(?<![A-Za-z])[Tt]ell(?:s|ing|er)?(?![a-z])|(?<=[a-z])Tell(?:s|ing|er)?(?![a-z])/g,
    'report, emit, say or format'
  ],
  [/(?<![A-Za-z])[Tt]old(?![a-z])|(?<=[a-z])Told(?![a-z])/g, 'reported, emitted, known'],
  [/\bwhoever\b/gi, 'the caller, the reader'],
  [/\banew\b/gi, 'again'],
  [/(?<![A-Za-z])[Ee]ntrances?(?![a-z])|(?<=[a-z])Entrances?(?![a-z])/g, 'surface'],
  [/\broom\b(?! for| is left| left)/gi, 'folder, package (Socket.IO has rooms: write `socket room`)'],
  [/\bmend(?:s|ed|ing)?\b/gi, 'fix, repair'],
  [/\b(?:go|goes|going|went|gone) on\b/gi, 'continue, resume'],
  [/\b(?:hear|hears|heard|hearing)\b/gi, 'receive, be notified'],
  [/\bstrangers?\b/gi, 'untrusted client, unauthenticated caller'],
  [/\bgoodbye\b/gi, 'last message'],
  [/\bonce more\b/gi, 'again'],
  [/\b(?:nobody|somebody|anybody)\b/gi, 'no one, or better the subject itself: no reader, no client'],
  [/\bfor ever\b/gi, 'forever, without limit'],
  [/\bthat there (?:is|are)\b/gi, 'the subject itself'],
  [/\b(?:it|that|which) is (?:its|his|her|theirs) to\b/gi, 'may, must'],
  [/\bis nothing to\b/gi, 'cannot affect'],
  [/\bby and by\b/gi, 'gradually']
]

const covered = (path: string) =>
  (/^(?:packages|apps)\/[^/]+\/(?:src|examples|README\.md)/.test(path) ||
    /^(?:bench|tools|docs)\//.test(path) ||
    /^[A-Z]+\.md$/.test(path)) &&
  !/^tools\/boundaries\/style\.ts$|\/memory\/recall-words\.ts$|^apps\/demo\/src\/models\/offline\//.test(path)

/** The style page itself shows the words that it bans. */
const withoutExamples = (text: string) => text.replace(/^## English$[\s\S]*?^(?=## )/m, '')

/** Names, comments, error texts and documents use the words of the field: see "English" in CONTRIBUTING.md. */
export function checkStyle(tree: SourceTree): string[] {
  return [...tree].flatMap(([path, source]) => {
    if (!covered(path)) return []
    const text = path === 'CONTRIBUTING.md' ? withoutExamples(source) : source
    const lines = [path, ...text.split('\n')]
    return lines.flatMap((line, at) =>
      banned.flatMap(([word, instead]) =>
        [...line.matchAll(word)].map(
          ([found]) => `${path}${at === 0 ? '' : `:${at}`}: "${found}", better: ${instead}`
        )
      )
    )
  })
}
