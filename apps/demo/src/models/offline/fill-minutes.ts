const KINDS: readonly (readonly [kind: string, sign: RegExp])[] = [
  ['decisions', /^(?:decided|decision|we decided|agreed)\b[:,]?\s*/i],
  ['actions', /^(?:todo|to do|action)\b[:,]?\s*/i]
]

/** Fills the template of minutes with rough notes: a sentence or line each; a heading without lines is left out. */
export function fillMinutes(template: string, message: string): string {
  const lines = new Map<string, string[]>([
    ['decisions', []],
    ['actions', []],
    ['notes', []]
  ])
  const notes = message.replace(/^[^:\n]*\bminutes\b[^:\n]*:?/i, '')
  for (const line of notes.split(/\n|(?<=[.!])\s+/).map((each) => each.trim())) {
    if (line === '') continue
    const [kind, sign] = KINDS.find(([, pattern]) => pattern.test(line)) ?? ['notes', /^$/]
    lines.get(kind)!.push(`- ${line.replace(sign, '')}`)
  }
  return template
    .replace(/^## .*\n+\{\{(\w+)\}\}\n*/gm, (section, kind: string) => {
      const found = lines.get(kind) ?? []
      return found.length === 0 ? '' : section.replace(`{{${kind}}}`, () => found.join('\n'))
    })
    .trim()
}
