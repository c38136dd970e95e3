/** Markup that is safe to send: everything that was put into it is escaped, or markup itself. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** What a template takes; undefined and false leave nothing. */
export type Child = Html | string | number | false | undefined | readonly Child[]

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** A template of HTML: texts are escaped, so that they may stand between tags and in quoted attributes. */
export function html(strings: TemplateStringsArray, ...children: readonly Child[]): Html {
  return new Html(String.raw({ raw: strings }, ...children.map(toText)))
}

function toText(child: Child): string {
  if (child === undefined || child === false) return ''
  if (child instanceof Html) return child.text
  if (typeof child === 'object') return child.map(toText).join('')
  return String(child).replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!)
}
