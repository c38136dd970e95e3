import type { ComponentChildren } from 'preact'
import type { RunItem } from '../../models/run-items.ts'
import { cleanLine } from '../clean-text.ts'

/** Items that follow each other: those of the run itself, or those of members, which are side by side. */
export type Stretch =
  | { readonly of: 'run'; readonly item: RunItem }
  | { readonly of: 'members'; readonly id: string; readonly lanes: Map<string, RunItem[]> }

/** Divides items into stretches; of members, each has a lane. */
export function toStretches(items: readonly RunItem[]): Stretch[] {
  const stretches: Stretch[] = []
  for (const item of items) {
    const [member] = item.source
    if (member === undefined) {
      stretches.push({ of: 'run', item })
      continue
    }
    let last = stretches.at(-1)
    if (last?.of !== 'members')
      stretches.push((last = { of: 'members', id: `lanes-${item.id}`, lanes: new Map() }))
    const lane = last.lanes.get(member)
    if (lane === undefined) last.lanes.set(member, [item])
    else lane.push(item)
  }
  return stretches
}

/** True if two stretches have the same items. */
export function isSameStretch(one: Stretch, other: Stretch | undefined): boolean {
  if (one.of === 'run') return other?.of === 'run' && one.item === other.item
  if (other?.of !== 'members' || one.lanes.size !== other.lanes.size) return false
  return [...one.lanes].every(([member, items]) => {
    const others = other.lanes.get(member)
    return others?.length === items.length && items.every((item, at) => item === others[at])
  })
}

/** The lanes of members; within one, who of a member's own members has spoken. */
export function Lanes({
  lanes,
  draw
}: {
  lanes: ReadonlyMap<string, readonly RunItem[]>
  draw: (item: RunItem) => ComponentChildren
}) {
  return (
    <div class="lanes">
      {[...lanes].map(([member, items]) => {
        let shown = ''
        return (
          <section class="lane" key={member} aria-label={cleanLine(member, 80)}>
            <p class="label hint">{cleanLine(member, 80)}</p>
            {items.map((item) => {
              const inner = item.source.slice(1).join(' › ')
              const isOther = inner !== shown
              shown = inner
              return (
                <div class="item" key={item.id}>
                  {isOther && inner !== '' && <p class="label hint">{cleanLine(inner, 120)}</p>}
                  {draw(item)}
                </div>
              )
            })}
          </section>
        )
      })}
    </div>
  )
}
