import type { PageElement, PageWindow } from './dom.ts'

/** A label to draw, in CSS pixels of the viewport. */
export interface Mark {
  readonly label: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Where the isolated world of a page keeps what is drawn. */
export interface MarkState {
  removeMarks?: (() => void) | undefined
}

/**
 * Runs in the isolated world of a page. Draws boxes with labels above all else. Scripts of the page can see that an
 * element was added, but not what is in it: its shadow root is closed.
 */
export function drawMarks(win: PageWindow, state: MarkState, marks: readonly Mark[]): void {
  type Drawn = PageElement & {
    style: Record<string, string>
    textContent: string
    popover: string
    append(...children: Drawn[]): void
    remove(): void
    showPopover(): void
    attachShadow(init: { mode: 'closed' }): Drawn
  }
  const document = win.document as unknown as { createElement(tag: string): Drawn; documentElement: Drawn }
  const draw = (style: Record<string, string>, text = ''): Drawn => {
    const element = document.createElement('div')
    Object.assign(element.style, { all: 'initial', position: 'fixed', pointerEvents: 'none', ...style })
    element.textContent = text
    return element
  }
  state.removeMarks?.()
  const host = draw({
    inset: '0',
    width: '100%',
    height: '100%',
    background: 'transparent',
    overflow: 'visible'
  })
  const root = host.attachShadow({ mode: 'closed' })
  for (const { label, x, y, width, height } of marks) {
    const color = '#d0021b'
    const box = { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }
    root.append(draw({ ...box, boxSizing: 'border-box', border: `1px solid ${color}` }))
    const place = { left: `${Math.max(0, x)}px`, top: `${Math.max(0, y - 11)}px` }
    const font = { font: '10px/11px monospace', padding: '0 2px', color: '#fff', background: color }
    root.append(draw({ ...place, ...font }, label))
  }
  state.removeMarks = () => {
    state.removeMarks = undefined
    host.remove()
  }
  host.popover = 'manual'
  document.documentElement.append(host)
  // The top layer: above dialogs, too.
  host.showPopover()
}
