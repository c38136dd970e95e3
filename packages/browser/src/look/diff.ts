import { structuredPatch } from 'diff'

// Beyond it the texts have little in common, and the search would take long.
const MAX_EDITS = 2_000

/**
 * The difference of two looks as the hunks of a unified diff, with one line around each change.
 * @returns undefined if the new text is not longer than the difference: then it says more
 */
export function diffLooks(before: string, after: string): string | undefined {
  const patch = structuredPatch('', '', `${before}\n`, `${after}\n`, '', '', {
    context: 1,
    maxEditLength: MAX_EDITS
  })
  if (patch === undefined) return undefined
  const text = patch.hunks
    .map(({ oldStart, oldLines, newStart, newLines, lines }) =>
      [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join('\n')
    )
    .join('\n')
  return text.length < after.length ? text : undefined
}
