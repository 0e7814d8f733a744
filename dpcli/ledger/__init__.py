"""What has been spent: accounts, charges and the exact bytes of every release."""
