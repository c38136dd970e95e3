/** An element of a page, as the outline of a browser tool names it. */
export interface Element {
  role: string
  name: string
  /** Names the element in calls; undefined if nothing can be done with it. */
  ref?: string
  /** Its own text, or the value of a field. */
  text: string
  /** Such as `checked` or `level=2`. */
  states: readonly string[]
  /** Where a link leads. */
  url?: string
  /** Undefined at the top. */
  parent?: Element
  children: Element[]
}

const LINE =
  /^( *)- ([a-z]+)((?: "(?:[^"\\]|\\.)*")?)((?: \[[^\]="]+(?:=(?:"(?:[^"\\]|\\.)*"|[^\]"]*))?\])*)(?:: ?(.*))?$/
const BRACKET = /\[([^\]="]+)(?:=("(?:[^"\\]|\\.)*"|[^\]"]*))?\]/g
const MAX_LINES = 5_000

/** Reads an outline, one element a line, into elements in the order of the page. Other lines are left out. */
export function readOutline(text: string): Element[] {
  const elements: Element[] = []
  const open: { indent: number; element: Element }[] = []
  for (const line of text.split('\n', MAX_LINES)) {
    const [, spaces, role, name = '', brackets = '', content = ''] = LINE.exec(line) ?? []
    if (spaces === undefined || role === undefined) continue
    while (open.length > 0 && open.at(-1)!.indent >= spaces.length) open.pop()
    const parent = open.at(-1)?.element
    const element: Element = {
      role,
      name: unquote(name.trim()),
      text: unquote(content),
      children: [],
      ...readBrackets(brackets),
      ...(parent && { parent })
    }
    parent?.children.push(element)
    elements.push(element)
    open.push({ indent: spaces.length, element })
  }
  return elements
}

/** All text below an element, in the order of the page. */
export function textOf({ role, name, text, children }: Element): string {
  // What may be chosen in a field is not what it says.
  const below = role === 'combobox' ? [] : children.map(textOf)
  const all = [text, ...below].filter(Boolean).join(' ') || name
  return all.replaceAll(/\s+/g, ' ').replaceAll(/ (?=[.,;!?])/g, '')
}

/** The closest element around one with a role, or undefined. */
export function around({ parent }: Element, ...roles: string[]): Element | undefined {
  return parent === undefined || roles.includes(parent.role) ? parent : around(parent, ...roles)
}

function readBrackets(brackets: string): Pick<Element, 'states' | 'ref' | 'url'> {
  const states: string[] = []
  const facts = new Map<string, string>()
  for (const [, key = '', value] of brackets.matchAll(BRACKET)) {
    if (key === 'ref' || key === 'url') facts.set(key, unquote(value ?? ''))
    else states.push(value === undefined ? key : `${key}=${unquote(value)}`)
  }
  const [ref, url] = [facts.get('ref'), facts.get('url')]
  return { states, ...(ref !== undefined && { ref }), ...(url !== undefined && { url }) }
}

function unquote(text: string): string {
  if (!/^".*"$/s.test(text)) return text
  try {
    return JSON.parse(text) as string
  } catch {
    return text
  }
}
