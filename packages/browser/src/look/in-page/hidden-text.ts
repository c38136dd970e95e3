/* oxlint-disable unicorn/consistent-function-scoping -- runs in a page, where nothing outside of the function exists */
import type { PageElement, PageNode, PageRect, PageStyle, PageWindow } from './dom.ts'

/**
 * Runs in a page. Returns a test for text that people cannot see: transparent, tiny, clipped, off screen, or in the
 * colour of its background. Such text is how pages give a model instructions that no person notices.
 */
export function createHiddenText(
  win: PageWindow,
  rectOf: (element: PageElement) => PageRect
): (text: PageNode, value: string) => boolean {
  // What names a control is kept, as `aria-label` is: a hidden text is often all that an icon has.
  const NAMING =
    'a[href],button,label,legend,caption,summary,option,[role=button],[role=link],[role=tab],[role=option],[role=checkbox],[role=radio],[role=switch],[role^=menuitem]'
  const MAX_NAME = 100
  // Each property that is read becomes a string of its own, and the ancestors of texts are the same again and again.
  const once = <T>(compute: (style: PageStyle) => T): ((element: PageElement) => T) => {
    const known = new Map<PageElement, { value: T }>()
    return (element) => {
      let result = known.get(element)
      if (result === undefined)
        known.set(element, (result = { value: compute(win.getComputedStyle(element)) }))
      return result.value
    }
  }
  const parentOf = (element: PageElement): PageElement | null =>
    element.assignedSlot ??
    element.parentElement ??
    (element.parentNode as { host?: PageElement } | null)?.host ??
    null

  const isClippedAway = ({ clip, clipPath, position, transform, filter, opacity }: PageStyle): boolean => {
    if (Number(opacity) < 0.05) return true
    if (/^(inset\(([5-9]\d|100)(\.\d+)?%|circle\(0)/.test(clipPath!)) return true
    if (/^matrix\(0, 0, 0, 0|^matrix\(0, 0, 0, 1,|^matrix\(1, 0, 0, 0,/.test(transform!)) return true
    if (/opacity\(0(\.0\d*)?\)/.test(filter!)) return true
    const edges = /^rect\((-?[\d.]+)px, (-?[\d.]+)px, (-?[\d.]+)px, (-?[\d.]+)px\)$/.exec(clip!)
    if (edges === null || (position !== 'absolute' && position !== 'fixed')) return false
    const [top, right, bottom, left] = edges.slice(1).map(Number)
    return bottom! - top! <= 1 || right! - left! <= 1
  }

  const invisible = new Map<PageElement, boolean>()
  const isInvisible = (element: PageElement): boolean => {
    const path: PageElement[] = []
    let result = false
    for (let at: PageElement | null = element; at !== null; at = parentOf(at)) {
      const known = invisible.get(at)
      if (known !== undefined || isClippedAway(win.getComputedStyle(at))) {
        result = known ?? true
        if (known === undefined) invisible.set(at, true)
        break
      }
      path.push(at)
    }
    for (const at of path) invisible.set(at, result)
    return result
  }

  const layoutOf = once(({ position, overflowX, overflowY, display, transform }) => {
    const clips = (overflowX !== 'visible' || overflowY !== 'visible') && display !== 'inline'
    return {
      position,
      overflowX,
      overflowY,
      clips,
      isContaining: position !== 'static' || transform !== 'none'
    }
  })

  /** True if no scrolling brings the rectangle into sight. */
  const isOutOfReach = (element: PageElement, text: PageRect): boolean => {
    let { left, top, right, bottom } = text
    let escapes: string | undefined
    for (let at: PageElement | null = element; at !== null; at = parentOf(at)) {
      const { position, overflowX, overflowY, clips, isContaining } = layoutOf(at)
      if (escapes === undefined || (escapes === 'absolute' && isContaining)) {
        escapes = undefined
        if (clips && at !== win.document.documentElement && at !== win.document.body) {
          const box = rectOf(at)
          if (box.width <= 1 || box.height <= 1) return true
          const scrollsX = overflowX === 'auto' || overflowX === 'scroll'
          const scrollsY = overflowY === 'auto' || overflowY === 'scroll'
          const offX = scrollsX ? box.left - at.scrollLeft : box.left
          const offY = scrollsY ? box.top - at.scrollTop : box.top
          const width = scrollsX ? at.scrollWidth : box.width
          const height = scrollsY ? at.scrollHeight : box.height
          if (
            right <= offX + 1 ||
            bottom <= offY + 1 ||
            left >= offX + width - 1 ||
            top >= offY + height - 1
          ) {
            return true
          }
          if (scrollsX) ({ left, right } = box)
          if (scrollsY) ({ top, bottom } = box)
        }
        if (position === 'fixed') {
          return right <= 1 || bottom <= 1 || left >= win.innerWidth - 1 || top >= win.innerHeight - 1
        }
        if (position === 'absolute') escapes = 'absolute'
      }
    }
    const { scrollWidth, scrollHeight } = win.document.documentElement
    return (
      right + win.scrollX <= 1 ||
      bottom + win.scrollY <= 1 ||
      left + win.scrollX >= Math.max(scrollWidth, win.innerWidth) - 1 ||
      top + win.scrollY >= Math.max(scrollHeight, win.innerHeight) - 1
    )
  }

  const parseColor = (color: string): number[] | undefined => {
    const parts = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(color)
    return parts === null ? undefined : [1, 2, 3, 4].map((index) => Number(parts[index] ?? 1))
  }
  const isAlike = (one: number[], other: number[]): boolean =>
    [0, 1, 2].every((channel) => Math.abs(one[channel]! - other[channel]!) <= 8)
  const groundOf = once((style) => ({
    color: parseColor(style['backgroundColor']!),
    hasImage: style['backgroundImage'] !== 'none',
    // Text painted with an image, or upon one.
    isInText: style['webkitBackgroundClip'] === 'text' || style['backgroundClip'] === 'text'
  }))
  const inkOf = once((style) => ({
    color: parseColor(style['webkitTextFillColor'] ?? style['color']!),
    hasShadow: style['textShadow'] !== 'none'
  }))
  const IMAGES = new Set(['IMG', 'VIDEO', 'CANVAS', 'SVG', 'IFRAME', 'PICTURE', 'OBJECT', 'EMBED'])

  /** True if something other than its ancestors lies behind a text and makes it readable. */
  const hasBackdrop = (element: PageElement, color: number[], text: PageRect): boolean => {
    const x = (text.left + text.right) / 2
    const y = (text.top + text.bottom) / 2
    // Only what is in the viewport can be asked for; the rest gets the benefit of the doubt if it is positioned.
    if (x < 0 || y < 0 || x >= win.innerWidth || y >= win.innerHeight) {
      for (let at: PageElement | null = element; at !== null; at = parentOf(at)) {
        if (layoutOf(at).position !== 'static') return true
      }
      return false
    }
    return win.document.elementsFromPoint(x, y).some((behind) => {
      if (behind.contains(element) || element.contains(behind)) return false
      if (IMAGES.has(behind.tagName.toUpperCase())) return true
      const { hasImage, color: background } = groundOf(behind)
      return hasImage || (background !== undefined && background[3]! > 0.3 && !isAlike(color, background))
    })
  }

  const isColourless = (element: PageElement, text: PageRect): boolean => {
    const { color, hasShadow } = inkOf(element)
    if (hasShadow || color === undefined) return false
    for (let at: PageElement | null = element; at !== null; at = parentOf(at)) {
      const { color: background, hasImage, isInText } = groundOf(at)
      if (isInText) return false
      if (color[3]! < 0.05) continue
      if (hasImage) return false
      if (background === undefined) return false
      if (background[3] === 0) continue
      if (background[3]! < 0.95 || !isAlike(color, background)) return false
      return !hasBackdrop(element, color, text)
    }
    if (color[3]! < 0.05) return true
    const isDark = win.getComputedStyle(win.document.documentElement)['colorScheme']!.includes('dark')
    return !isDark && isAlike(color, [255, 255, 255]) && !hasBackdrop(element, color, text)
  }

  const range = win.document.createRange()
  const compute = (text: PageNode, value: string): boolean => {
    const element = (text.parentNode as PageElement | null)?.nodeType === 1 ? text.parentNode : undefined
    const parent = (element ?? (text.parentNode as { host?: PageElement } | null)?.host) as
      | PageElement
      | undefined
    if (parent === undefined || value.trim() === '') return false
    if (value.length <= MAX_NAME && parent.closest(NAMING) !== null) return false
    if (parent.tagName === 'OPTION' || parent.tagName === 'OPTGROUP') return false
    if (isInvisible(parent) || Number.parseFloat(win.getComputedStyle(parent)['fontSize']!) <= 1) return true
    range.selectNodeContents(text)
    const rect = range.getBoundingClientRect()
    if (rect.width === 0 || rect.height === 0) return win.getComputedStyle(parent)['display'] !== 'contents'
    return isOutOfReach(parent, rect) || isColourless(parent, rect)
  }
  const results = new Map<PageNode, boolean>()
  return (text, value) => {
    let result = results.get(text)
    if (result === undefined) results.set(text, (result = compute(text, value)))
    return result
  }
}
