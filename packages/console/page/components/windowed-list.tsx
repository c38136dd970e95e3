import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import './windowed-list.css'

/** A list of rows of one height, of which only those in view exist. */
export interface WindowedListProps {
  readonly label: string
  readonly count: number
  /** Pixels. */
  readonly rowHeight: number
  readonly row: (index: number) => ComponentChildren
  readonly keyOf: (index: number) => string | number
  /** The row to bring into view, at first and whenever it changes. */
  readonly scrollTo?: number | undefined
  /** Called when the end comes near. */
  readonly onEnd?: (() => void) | undefined
}

/** Rows beyond the edges of the view, so that scrolling shows no gaps; after a long way they are drawn one frame later. */
const MARGIN = 8

export function WindowedList({ label, count, rowHeight, row, keyOf, scrollTo, onEnd }: WindowedListProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600, isFar: true })

  useEffect(() => {
    const element = scroller.current!
    let frame = 0
    const measure = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => {
        const { scrollTop: top, clientHeight: height } = element
        setView((old) => {
          const isFar = Math.abs(old.top - top) * 2 > height
          if (isFar) measure()
          return old.top === top && old.height === height && old.isFar === isFar
            ? old
            : { top, height, isFar }
        })
      })
    }
    measure()
    element.addEventListener('scroll', measure, { passive: true })
    const resized = new ResizeObserver(measure)
    resized.observe(element)
    return () => {
      cancelAnimationFrame(frame)
      element.removeEventListener('scroll', measure)
      resized.disconnect()
    }
  }, [])

  // Once the row exists: the log may still be read.
  const isThere = scrollTo !== undefined && scrollTo < count
  useLayoutEffect(() => {
    if (!isThere) return
    const element = scroller.current!
    element.scrollTop = Math.max(0, scrollTo * rowHeight - element.clientHeight / 3)
  }, [isThere, scrollTo, rowHeight])

  const margin = view.isFar ? 0 : MARGIN
  const first = Math.max(0, Math.floor(view.top / rowHeight) - margin)
  const end = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + margin)
  useEffect(() => {
    if (end === count && count > 0) onEnd?.()
  }, [end, count, onEnd])

  const rows = []
  for (let index = first; index < end; index++)
    rows.push(
      <li
        key={keyOf(index)}
        aria-setsize={count}
        aria-posinset={index + 1}
        style={{ height: `${rowHeight}px` }}
      >
        {row(index)}
      </li>
    )
  return (
    <div class="windowed" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <div style={{ height: `${count * rowHeight}px` }}>
        <ul style={{ transform: `translateY(${first * rowHeight}px)` }}>{rows}</ul>
      </div>
    </div>
  )
}
