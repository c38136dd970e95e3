/** Replacements in order; what only structures a text on a screen has no sound. */
const MARKDOWN: readonly (readonly [RegExp, string])[] = [
  // A fence that a cut left open reaches to the end.
  [/^[ \t]*(```|~~~)[\s\S]*?(?:^[ \t]*\1[ \t]*$|$(?![\s\S]))/gm, ''],
  // Rules, underlines of headings, and the second line of tables.
  [/^[ \t]*(?:[-*_=] ?){3,}[ \t]*$/gm, ''],
  [/^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+(?:[ \t]*:?-{2,}:?)?[ \t]*$/gm, ''],
  [/^[ \t]*(?:>[ \t]*)+/gm, ''],
  [/^[ \t]*#{1,6}[ \t]+/gm, ''],
  [/^[ \t]*[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?/gm, ''],
  // Cells of tables.
  [/^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$/gm, ''],
  [/[ \t]+\|[ \t]+/g, ', '],
  [/!?\[([^\]\n]*)\]\([^)\n]*\)/g, '$1'],
  [/<((?:https?:\/\/|mailto:)[^>\s]+)>/g, '$1'],
  [/<\/?[a-z][^>\n]*>/gi, ''],
  [/\bhttps?:\/\/(?:www\.)?([^\s/?#)]+)[^\s)]*[^\s).,;:!?]/gi, '$1'],
  [/\*{2,}(?=\S)|(?<=\S)\*{2,}/g, ''],
  [/(?<![\p{L}\p{N}])\*(?=\S)|(?<=\S)\*(?![\p{L}\p{N}])/gu, ''],
  [/(?<![\p{L}\p{N}])_+(?=\S)|(?<=\S)_+(?![\p{L}\p{N}])/gu, ''],
  [/~~|`+/g, ''],
  [/\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/gu, ''],
  // What joins and varies emoji.
  [/\p{Emoji_Modifier}|\u200d|\ufe0f|\u20e3/gu, ''],
  [/\s+/g, ' ']
]

/** The words of a text to be spoken: without Markdown, code blocks, addresses after their host, and emoji. */
export function toSpeakable(text: string): string {
  let spoken = text
  for (const [pattern, replacement] of MARKDOWN) spoken = spoken.replace(pattern, replacement)
  // Without a letter or a digit the text has no sound.
  return /[\p{L}\p{N}]/u.test(spoken) ? spoken.trim() : ''
}
