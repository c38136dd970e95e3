import { useEffect, useState } from 'preact/hooks'

/** How many of many items to draw: some more in each frame, so that no frame takes long. */
export function useGradually(count: number, step = 25): number {
  const [drawn, setDrawn] = useState(step)
  useEffect(() => {
    const frame = drawn < count ? requestAnimationFrame(() => setDrawn(drawn + step)) : undefined
    return () => {
      if (frame !== undefined) cancelAnimationFrame(frame)
    }
  }, [drawn, count, step])
  return Math.min(drawn, count)
}
