import { useEffect, useRef, useState } from 'preact/hooks'

/**
 * Whether an element was ever in the window, or near it: what is further away loads nothing.
 * @param margin around the window that counts too
 */
export function useSeen<E extends Element>(margin = '0px') {
  const place = useRef<E>(null)
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    const watcher = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        setSeen(true)
        watcher.disconnect()
      },
      { rootMargin: margin }
    )
    watcher.observe(place.current!)
    return () => watcher.disconnect()
  }, [])
  return [place, isSeen] as const
}
