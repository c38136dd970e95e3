import './style/tokens.css'
import './style/base.css'
import './style/controls.css'
import { render } from 'preact'
import { loadConfig } from './api/client.ts'
import { App } from './app/app.tsx'
import { checkAccess } from './app/sign-in.tsx'
import { ErrorNotice } from './components/notice.tsx'

const root = document.getElementById('app')!

async function start(): Promise<void> {
  try {
    await loadConfig()
    await checkAccess()
    render(<App />, root)
  } catch (err) {
    const again = () => void start()
    render(
      <main class="gate">
        <ErrorNotice error={err} onRetry={again} />
      </main>,
      root
    )
  }
}

await start()
