import { useState } from 'preact/hooks'
import { access, enterToken, visits } from '../api/access.ts'
import { ApiError, configOf } from '../api/client.ts'
import { getNames } from '../api/resources.ts'
import { ErrorNotice } from '../components/notice.tsx'
import { cleanLine } from '../components/clean-text.ts'

/** Checks the credentials that the visitor has: a token of this tab, a cookie, or none if the service wants none. */
export async function checkAccess(): Promise<void> {
  try {
    await getNames()
  } catch (err) {
    if (err instanceof ApiError && err.status === 401) return void (access.value = 'out')
    // Who may not read the registry may do other things; each view says what it cannot show.
    if (!(err instanceof ApiError) || err.isPassing) throw err
  }
  visits.value++
  access.value = 'in'
}

/** Where a visitor without credentials enters a token, or goes to sign in. */
export function SignIn() {
  const { title, signIn } = configOf()
  const [token, setToken] = useState('')
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    const entered = token.trim().replace(/^bearer\s+/i, '')
    if (!/^[\u0021-\u007e]+$/.test(entered)) return setError(new Error('Paste a token: it has no spaces.'))
    setBusy(true)
    setError(undefined)
    enterToken(entered)
    try {
      await checkAccess()
      if (access.value === 'out') setError(new Error('The service does not accept this token.'))
    } catch (err) {
      setError(err)
    } finally {
      setBusy(false)
    }
  }
  return (
    <main class="gate">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1>{cleanLine(title, 80)}</h1>
        {error !== undefined && <ErrorNotice error={error} />}
        {signIn !== undefined && (
          <a class="button primary" href={signIn}>
            Sign in
          </a>
        )}
        <div class="field">
          <label for="token">Token</label>
          <input
            class="input code"
            id="token"
            type="password"
            autoComplete="off"
            spellcheck={false}
            required
            aria-describedby="token-hint"
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
          <p class="hint" id="token-hint">
            It is kept in this tab until you close it.
          </p>
        </div>
        <button class={signIn === undefined ? 'button primary' : 'button'} type="submit" disabled={isBusy}>
          {isBusy ? 'Checking …' : 'Use this token'}
        </button>
      </form>
    </main>
  )
}
