"""`scripts/openapi`: the document of an API that has nothing behind it, which is the same as any other's."""

import asyncio
import json

from api.parts import NoCaller, NoServers, ask

from callgate.api.http_api import ApiParts, HttpApi


async def document() -> str:
    app = HttpApi(ApiParts(NoServers(), NoCaller())).app()
    served = (await ask(app, "/api/v1/openapi.json")).json
    return json.dumps(served, indent=2) + "\n"


if __name__ == "__main__":
    print(asyncio.run(document()), end="")
