"""The HTTP API and the built console: routes that read rows and write few of them.

It refuses to decide or to act: a halt is a row that the controller and the workers read.
`create_app` gets everything it needs; nothing here picks an implementation.
"""
