import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Milliseconds that a frame may take, from the first line of code to its layout. */
const BUDGET = 8
/** Frames that drawing may take, even if they take longer. */
const MAX_FRAMES = 1_000

/** How many of many items to draw: more in each frame, as many as fit into it. @param first items of the first frame */
export function useGradually(count: number, first = 25): number {
  const [drawn, setDrawn] = useState(first)
  const pace = useRef({ step: first, began: 0 })
  useLayoutEffect(() => {
    if (drawn >= count) return undefined
    let frame = 0
    // After the layout of this frame.
    const timer = setTimeout(() => {
      const { step, began } = pace.current
      const cost = began === 0 ? BUDGET : performance.now() - began
      const next =
        cost * 2 < BUDGET
          ? step * 2
          : cost > BUDGET
            ? Math.max(Math.ceil(count / MAX_FRAMES), step >> 1)
            : step
      frame = requestAnimationFrame(() => {
        pace.current = { step: next, began: performance.now() }
        setDrawn(drawn + next)
      })
    })
    return () => {
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
  }, [drawn, count])
  return Math.min(drawn, count)
}
