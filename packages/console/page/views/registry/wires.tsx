import { getNames, type Wire } from '../../api/resources.ts'
import { surfaceUrl } from '../../api/config.ts'
import { cleanLine } from '../../components/clean-text.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { ErrorNotice } from '../../components/notice.tsx'
import { useLoad } from '../../components/use-load.ts'

/** The wires of the service, with the addresses that clients take, and their documents. */
export function Wires() {
  const names = useLoad((signal) => getNames({ signal }), [])
  const wires = names.value?.wires ?? []
  const addressOf = resolver(wires)
  return (
    <section class="stack">
      <h2>Wires</h2>
      {names.error !== undefined && <ErrorNotice error={names.error} onRetry={names.reload} />}
      <ul class="card registry-list">
        {wires.map(({ name, path, document }) => {
          const address = addressOf(path).href
          return (
            <li key={`${name} ${path}`} class="row">
              <strong>{cleanLine(name, 60)}</strong>
              <code class="ellipsis">{cleanLine(address, 200)}</code>
              <CopyButton text={address} label={`Copy the address of ${cleanLine(name, 60)}`} />
              {document !== undefined && (
                <a class="end" href={addressOf(document).href} target="_blank" rel="noopener">
                  document
                </a>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

// Paths are those of the app; a proxy in front of it may have put something before them.
function resolver(wires: readonly Wire[]): (path: string) => URL {
  const http = surfaceUrl('http')!
  const own = wires.find(({ name, path }) => name === 'http' && http.pathname.endsWith(`${path}/`))
  const before = own === undefined ? '' : http.pathname.slice(0, -own.path.length - 1)
  return (path) => new URL(before + path, http)
}
