import { Component, type ComponentType, type VNode } from 'preact'

/** A component that is drawn again only if a property is another value. */
export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const keys = Object.keys({ ...next, ...this.props }) as (keyof P)[]
      return keys.some((key) => next[key] !== this.props[key])
    }

    override render(): VNode {
      return <Inner {...(this.props as P)} />
    }
  }
}
