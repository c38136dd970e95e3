import { Team, type Agent, type Model } from '@svc/runtime'

/** The team of the demo: its leader hands each message to the best agent for it. */
export function createDesk(model: Model, members: readonly Agent[]): Team {
  return new Team({
    name: 'desk',
    description: 'Takes any question and hands it to the best agent for it.',
    mode: 'route',
    model,
    members,
    replace: true
  })
}
