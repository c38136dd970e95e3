import type { Target } from '../../browser.ts'
import type { PageElement, PageRoot } from './page-dom.ts'

/** Runs in the page: the facts of the element that a click on `spot` reaches, e.g. of the button around an icon. */
export function readTarget(spot: PageElement): Omit<Target, 'frameUrl'> {
  const MAX = 200
  const cut = (text: string) => (text.length > MAX ? `${text.slice(0, MAX - 1)}…` : text)
  const plain = (text: string | null | undefined) => cut((text ?? '').replace(/\s+/g, ' ').trim())
  // Names of fields hide the members of their form: a field named "action" is form.action.
  const { getAttribute } = spot.ownerDocument.documentElement
  const attribute = (element: PageElement, name: string) => getAttribute.call(element, name)
  const resolve = (url: string) => URL.parse(url, spot.baseURI)?.href ?? url

  function closest(selector: string): PageElement | null {
    for (let from: PageElement | undefined = spot; from !== undefined; from = from.getRootNode().host) {
      const found = from.closest(selector)
      if (found !== null) return found
    }
    return null
  }

  const ACTORS =
    'a[href], area[href], button, input, select, textarea, option, summary, label, [contenteditable], [role]'
  const nearest = closest(ACTORS) ?? spot
  const actor = nearest.tagName === 'LABEL' ? (nearest.control ?? nearest) : nearest
  const tag = actor.tagName.toLowerCase()
  const type = tag === 'input' || tag === 'button' ? (actor.type ?? '') : undefined

  const ROLES: Record<string, string> = {
    ...{
      a: 'link',
      area: 'link',
      button: 'button',
      select: 'combobox',
      textarea: 'textbox',
      option: 'option'
    },
    ...{ summary: 'button', img: 'img', h1: 'heading', h2: 'heading', h3: 'heading', input: 'textbox' }
  }
  const INPUT_ROLES: Record<string, string> = {
    ...{ button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button' },
    ...{ checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox' }
  }
  const role =
    attribute(actor, 'role') ?? (tag === 'input' ? INPUT_ROLES[type ?? ''] : undefined) ?? ROLES[tag] ?? ''

  function nameOf(element: PageElement): string {
    const root: PageRoot = element.getRootNode()
    const ids = attribute(element, 'aria-labelledby')?.split(/\s+/) ?? []
    const labels = ids.map((id) => root.getElementById(id)?.textContent).join(' ')
    const isButton = /^(?:button|submit|reset)$/.test(type ?? '') && tag === 'input'
    const isField = /^(?:input|select|textarea)$/.test(tag)
    const names = [
      ...[
        labels,
        attribute(element, 'aria-label'),
        ...Array.from(element.labels ?? [], (label) => label.textContent)
      ],
      ...[isButton ? element.value : '', attribute(element, 'alt'), isField ? '' : element.innerText],
      ...[element.querySelector('img[alt]')?.getAttribute('alt'), attribute(element, 'title')],
      attribute(element, 'placeholder')
    ]
    return names.map(plain).find((name) => name !== '') ?? ''
  }

  const form = actor.form ?? null
  const submits = form !== null && (type === 'submit' || type === 'image')
  const own = (name: string) => (submits ? attribute(actor, `form${name}`) : null)
  const method = form === null ? '' : (own('method') ?? attribute(form, 'method') ?? '').toLowerCase()
  const link = closest('a[href], area[href]')
  return {
    tag,
    role: plain(role),
    name: nameOf(actor),
    ...(type !== undefined && { type: plain(type) }),
    ...(submits && { submits }),
    ...(form !== null && {
      form: {
        method: method === 'post' || method === 'dialog' ? method : 'get',
        action: resolve(own('action') ?? attribute(form, 'action') ?? '')
      }
    }),
    ...(link !== null && {
      href: resolve(attribute(link, 'href') ?? ''),
      isDownload: attribute(link, 'download') !== null
    })
  }
}
