// The only place that talks HTTP: adds the token, and asks for one when the gateway wants it.
// The token goes into a header, never into an address: addresses end up in logs and histories.

import { ApiProblem, asProblem, isAbort } from './problem'
import { useToken } from '@/stores/token'

// Calls that are made here are the page's in the record, and not those of a browser with a long name.
const PROGRAM = 'callgate-page'

export async function send(request: Request): Promise<Response> {
  const token = useToken()
  for (;;) {
    const sent = token.value
    const attempt = request.clone()
    attempt.headers.set('X-Callgate-Client-Id', PROGRAM)
    if (sent) attempt.headers.set('Authorization', `Bearer ${sent}`)
    let response: Response
    try {
      response = await fetch(attempt)
    } catch (cause) {
      if (isAbort(cause)) throw cause
      throw asProblem(cause)
    }
    if (response.status !== 401) return response
    const granted = await token.ask(sent)
    // The gateway's own hint is for programs.
    if (!granted) throw new ApiProblem(401, 'refused.unauthenticated', 'This gateway wants a token', '', 'Try again to give it one.')
  }
}
