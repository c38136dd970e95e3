import { useState } from 'preact/hooks'
import { goTo, hrefOf, type Route } from '../../app/router.ts'
import { STATUS_LABELS } from '../../components/status.tsx'

/** Selects runs; what is selected is in the address, so that it can be shared and comes back. */
export function RunFilters({ query }: { query: Route['query'] }) {
  const [name, setName] = useState(query['name'] ?? '')
  const [metadata, setMetadata] = useState(query['metadata'] ?? '')
  const apply = (change: Record<string, string>) =>
    goTo(hrefOf(['runs'], { ...query, ...change }), { replace: true })
  const submit = (event: Event) => {
    event.preventDefault()
    apply({ name: name.trim(), metadata: metadata.trim() })
  }
  return (
    <form class="run-filters end" role="search" onSubmit={submit}>
      <select
        class="input"
        aria-label="State"
        value={query['status'] ?? ''}
        onChange={({ currentTarget }) => apply({ status: currentTarget.value })}
      >
        <option value="">All states</option>
        {Object.entries(STATUS_LABELS).map(([status, label]) => (
          <option value={status}>{label}</option>
        ))}
      </select>
      <input
        class="input"
        type="search"
        aria-label="Name"
        placeholder="Name"
        maxLength={128}
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
        onBlur={submit}
      />
      <input
        class="input"
        type="search"
        aria-label="Metadata, as key=value"
        placeholder="key=value"
        pattern="[^=]+=.*"
        title="key=value"
        value={metadata}
        onInput={({ currentTarget }) => setMetadata(currentTarget.value)}
        onBlur={submit}
      />
      <button type="submit" class="visually-hidden">
        Filter
      </button>
    </form>
  )
}
