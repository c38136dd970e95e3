/** A text without the given marks, and whitespace, at its end. One look at each character, whatever the text. */
export function trimMarks(text: string, marks: string): string {
  let end = text.length
  while (end > 0 && (marks.includes(text[end - 1]!) || text[end - 1]!.trim() === '')) end--
  return text.slice(0, end)
}
