import { Component, type ComponentChildren } from 'preact'
import { ErrorNotice } from '../components/notice.tsx'

/** Shows an error of a view in its place, so that the rest of the page stays. */
export class Boundary extends Component<{ children: ComponentChildren }, { error?: unknown }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <div class="view-body stack">
        <h1>This view has failed</h1>
        <ErrorNotice error={error} onRetry={() => this.setState({ error: undefined })} />
      </div>
    )
  }
}
